"""What bench/experiments.py measured, as Markdown and a plot, beside what the papers have: one file an experiment."""

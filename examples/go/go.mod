module staffa-example

go 1.22

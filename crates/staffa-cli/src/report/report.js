
"use strict";
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  for (const element of document.querySelectorAll(".js")) element.hidden = false;

  // Light or dark: the setting of the system, until the button is pressed.
  const button = byId("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
  dark.addEventListener("change", label);
  label();

  // With many columns the details are escaped text until they are opened.
  const build = (column) => {
    const text = column.querySelector(":scope > .lazy");
    if (text) text.outerHTML = text.textContent;
  };
  const list = byId("columns");
  list.addEventListener("toggle", (event) => {
    if (event.target.matches(".col")) build(event.target);
  }, true);

  const columns = [...list.children].map((element) => ({
    element,
    text: element.firstElementChild.textContent.toLowerCase(),
    name: element.querySelector(".cn b").textContent,
  }));
  const find = byId("find");
  const found = byId("found");
  const all = found.textContent;
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { element, text } of columns) {
      const hidden = !words.every((word) => text.includes(word));
      if (element.hidden !== hidden) element.hidden = hidden;
      count += hidden ? 0 : 1;
    }
    found.textContent = words.length ? `${count.toLocaleString("en")} of ${all}` : all;
  };
  find.addEventListener("input", filter);

  const sort = byId("sort");
  sort.addEventListener("change", () => {
    const key = sort.value;
    const number = (column) => Number(column.element.dataset[key]);
    const compare = {
      name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
      i: (a, b) => number(a) - number(b),
    }[key] || ((a, b) => number(b) - number(a));
    columns.sort(compare);
    list.append(...columns.map((column) => column.element));
  });

  // Opens a column by its address, or by its rectangle.
  const show = (id) => {
    const column = /^c\d+$/.test(id) && byId(id);
    if (!column) return;
    if (column.hidden) { find.value = ""; filter(); }
    build(column);
    column.open = true;
    column.scrollIntoView();
    column.firstElementChild.focus({ preventScroll: true });
  };
  addEventListener("hashchange", () => show(location.hash.slice(1)));
  show(location.hash.slice(1));
  byId("map")?.addEventListener("click", (event) => {
    const column = event.target.closest("[data-c]");
    if (!column) return;
    const id = `c${column.dataset.c}`;
    if (location.hash === `#${id}`) show(id); else location.hash = id;
  });
})();

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

  // Pages of elements; `shown` returns those that are not filtered out.
  const pager = (nav, shown, all) => {
    const size = Number(nav.dataset.size);
    let page = 0;
    const text = document.createElement("span");
    const turn = (by, name) => {
      const turned = document.createElement("button");
      turned.type = "button";
      turned.textContent = name;
      turned.addEventListener("click", () => { page += by; draw(); });
      return turned;
    };
    const [before, after] = [turn(-1, "Previous"), turn(1, "Next")];
    text.setAttribute("aria-live", "polite");
    nav.append(before, text, after);
    const draw = () => {
      const elements = shown();
      const last = Math.max(Math.ceil(elements.length / size) - 1, 0);
      page = Math.min(Math.max(page, 0), last);
      const visible = new Set(elements.slice(page * size, (page + 1) * size));
      for (const element of all()) element.hidden = !visible.has(element);
      nav.hidden = last === 0;
      const number = (n) => n.toLocaleString("en");
      text.textContent = `${number(page * size + 1)} to ${number(page * size + visible.size)} of ${number(elements.length)}`;
      before.disabled = page === 0;
      after.disabled = page === last;
    };
    draw();
    return {
      first: () => { page = 0; draw(); },
      to: (element) => { page = Math.max(Math.floor(shown().indexOf(element) / size), 0); draw(); },
    };
  };
  const pagerOf = (what) => document.querySelector(`[data-of=${what}]`);

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
    e: element.querySelector(".en")?.textContent ?? "",
  }));
  const find = byId("find");
  const found = byId("found");
  const all = found.textContent;
  const matching = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    return columns.filter(({ text }) => words.every((word) => text.includes(word))).map(({ element }) => element);
  };
  const pages = pager(pagerOf("columns"), matching, () => list.children);
  find.addEventListener("input", () => {
    const count = matching().length.toLocaleString("en");
    found.textContent = find.value.trim() ? `${count} of ${all}` : all;
    pages.first();
  });

  // A heading sorts, numbers from the largest; pressed again the other way round.
  const heads = byId("heads");
  const text = (key) => (a, b) => a[key].localeCompare(b[key], "en", { numeric: true });
  const number = (key) => (a, b) => Number(a.element.dataset[key]) - Number(b.element.dataset[key]);
  heads.addEventListener("click", (event) => {
    const head = event.target.closest("button");
    if (!head) return;
    const key = head.dataset.sort;
    const words = key === "name" || key === "e";
    const first = words || key === "i" ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = head.dataset.order === first ? other : first;
    for (const each of heads.querySelectorAll("button")) {
      delete each.dataset.order;
      each.removeAttribute("aria-label");
    }
    head.dataset.order = order;
    head.setAttribute("aria-label", `${head.textContent}, sorted ${order}`);
    const compare = words ? text(key) : number(key);
    columns.sort((a, b) => (order === "ascending" ? compare(a, b) : compare(b, a)));
    list.append(...columns.map((column) => column.element));
    pages.first();
  });

  // Opens a column by its address, or by its rectangle.
  const show = (id) => {
    const column = /^c\d+$/.test(id) && byId(id);
    if (!column) return;
    if (!matching().includes(column)) {
      find.value = "";
      found.textContent = all;
    }
    pages.to(column);
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

  const rows = byId("rows");
  if (rows) {
    const lines = [...rows.tBodies[0].rows];
    pager(pagerOf("rows"), () => lines, () => lines);
  }
})();

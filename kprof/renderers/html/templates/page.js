// The page is whole without this: here is what a reader can do with it beyond reading.
"use strict";
(() => {
  const say = (name, attributes, text) => {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.textContent = text;
    return made;
  };

  // Sorting: a button in every heading. What has no value stays below, whichever way.
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = say("button", { type: "button" }, heading.textContent);
      heading.replaceChildren(button);
      heading.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const numbers = heading.classList.contains("n");
        const first = numbers && heading !== headings.at(-1) ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const way = heading.getAttribute("aria-sort") === first ? other : first;
        for (const one of headings) one.setAttribute("aria-sort", one === heading ? way : "none");
        const rows = [...body.rows].map((row) => {
          const cell = row.cells[column];
          const text = (cell.querySelector("summary") || cell).textContent;
          return { row, value: "v" in cell.dataset ? Number(cell.dataset.v) : text, none: !!cell.querySelector(".na") };
        });
        const sign = way === "ascending" ? 1 : -1;
        rows.sort((a, b) => a.none - b.none || (a.value < b.value ? -sign : a.value > b.value ? sign : 0));
        body.append(...rows.map((one) => one.row));
      });
    });
    if (body.rows.length < 8) continue;
    const box = say("input", { type: "search", "aria-label": "Show kernels whose name or label holds", placeholder: "Filter" }, "");
    const count = say("span", { role: "status" }, "");
    const line = say("p", { class: "filter" }, "");
    line.append(box, count);
    table.parentElement.before(line);
    box.addEventListener("input", () => {
      const wanted = box.value.toLowerCase();
      let shown = 0;
      for (const row of body.rows) {
        const holds = row.textContent.toLowerCase().includes(wanted);
        row.hidden = !holds;
        shown += holds;
      }
      count.textContent = wanted ? ` ${shown} of ${body.rows.length}` : "";
    });
  }

  // The report: unpacked here where the browser can, else as it is.
  const link = document.getElementById("download");
  if (link && "DecompressionStream" in window) {
    link.textContent = "Download report.json";
    const packed = link.href;
    link.download = "report.json";
    link.addEventListener("click", async (event) => {
      if (link.href !== packed) return;
      event.preventDefault();
      const bytes = Uint8Array.from(atob(packed.slice(packed.indexOf(",") + 1)), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      const json = await new Response(stream).blob();
      link.href = URL.createObjectURL(new Blob([json], { type: "application/json" }));
      link.click();
    });
  }

  // A link to a block opens it.
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  window.addEventListener("hashchange", open);
  open();

  const command = document.getElementById("command");
  if (command && navigator.clipboard) {
    const button = say("button", { type: "button", class: "button" }, "Copy");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    });
    command.after(button);
  }
})();

// A field above a long list of documents to choose from.
"use strict";
for (const list of document.querySelectorAll("[data-filter]")) {
  const items = [...list.querySelectorAll("label")];
  const field = Object.assign(document.createElement("input"), { type: "search", placeholder: _("Filter"), ariaLabel: _("Filter the documents") });
  field.addEventListener("input", () => {
    for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(field.value.trim().toLowerCase());
  });
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  if (items.length > 8) list.prepend(field);
}

// Buttons for selected documents wait until some are selected; those of shared folders cannot be changed here.
for (const selection of document.querySelectorAll("[data-some]")) {
  const update = () => {
    const chosen = [...selection.querySelectorAll("[name=document]:checked")];
    const fixed = chosen.some((box) => box.matches("[data-fixed]"));
    for (const button of selection.querySelectorAll("button")) button.disabled = !chosen.length || (fixed && button.matches(".own"));
  };
  selection.addEventListener("change", update);
  addEventListener("pageshow", update);
}

// Adding documents by dropping files and folders, one after the other, with progress. Without it, the form sends all.
const form = document.getElementById("upload");
if (form) {
  const input = document.getElementById("file");
  const list = document.getElementById("uploads"), limit = Number(form.dataset.limit);
  const element = (tag, values) => Object.assign(document.createElement(tag), values);
  const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

  // Sends the bytes of a file; returns the status and the reply.
  function send(name, file, progress) {
    return new Promise((done) => {
      const request = new XMLHttpRequest();
      request.open("POST", `/v1/knowledge?name=${encodeURIComponent(name)}`);
      request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
      request.responseType = "json";
      request.upload.onprogress = (event) => { progress.value = event.loaded / event.total; };
      request.upload.onload = () => progress.removeAttribute("value");
      request.onload = () => done([request.status, request.response || {}]);
      request.onerror = () => done([0, { message: _("the server does not answer") }]);
      request.send(file);
    });
  }

  async function add(name, file, item) {
    const [, progress, state] = item.children;
    let status = 413, reply = { message: _("larger than %(size)s MB", { size: Math.round(limit / 1e6) }) };
    for (let attempt = 0; file.size <= limit && attempt < 5; attempt += 1) {
      state.textContent = _("reading …");
      [status, reply] = await send(name, file, progress);
      if (status !== 429) break;
      await pause(3);
    }
    progress.remove();
    item.className = status === 200 ? "done" : "refused";
    const why = (reply.message || _("could not be added")).replace(`${name}: `, "");
    state.textContent = status === 200 ? _("added") : reply.code !== "unreadable_file" ? why : _("cannot be read. Save it as PDF, Word or text, without a password, and add that.");
    if (reply.code !== "unreadable_file") return;
    const detail = element("details", { className: "small" });
    detail.append(element("summary", { textContent: _("Technical detail") }), why);
    item.append(detail);
  }

  let queue = Promise.resolve();
  function addAll(files) {
    const folder = document.getElementById("collection").value.trim();
    for (const [path, file] of files) {
      if (path.split("/").some((part) => part.startsWith("."))) continue;
      const name = folder ? `${folder}/${path}` : path, item = element("li");
      item.append(element("span", { textContent: name }), element("progress", { value: 0, ariaLabel: name }), element("small", { textContent: _("waits") }));
      list.append(item);
      queue = queue.then(() => add(name, file, item));
    }
    // The list shows what was added; files that were refused stay in view until the reader goes on.
    const last = queue;
    queue.then(() => {
      document.getElementById("uploaded")?.remove();
      if (last !== queue || !list.querySelector(".done")) return;
      if (!list.querySelector(".refused")) location.assign("/documents");
      else list.after(element("a", { id: "uploaded", className: "button", href: "/documents", textContent: _("Show the documents") }));
    });
  }

  // All files below what was dropped, with their paths.
  async function below(entry) {
    if (entry.isFile) {
      return [[entry.fullPath.replace(/^\//, ""), await new Promise((done, failed) => entry.file(done, failed))]];
    }
    const reader = entry.createReader(), files = [];
    for (;;) {
      const entries = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (!entries.length) return files;
      for (const inner of entries) files.push(...(await below(inner)));
    }
  }

  const chosen = (files) => [...files].map((file) => [file.webkitRelativePath || file.name, file]);
  const folders = element("input", { type: "file", webkitdirectory: true, hidden: true });
  const choose = element("button", { type: "button", textContent: _("Choose a folder"), onclick: () => folders.click() });
  form.querySelector("button.main").replaceWith(choose, folders);
  form.querySelector(".hint").hidden = false;
  for (const field of [input, folders]) {
    field.addEventListener("change", () => {
      addAll(chosen(field.files));
      field.value = "";
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("dragover", (event) => { event.preventDefault(); form.classList.add("over"); });
  form.addEventListener("dragleave", (event) => { if (!form.contains(event.relatedTarget)) form.classList.remove("over"); });
  form.addEventListener("drop", async (event) => {
    event.preventDefault();
    form.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    addAll(entries.length ? (await Promise.all(entries.map(below))).flat() : chosen(event.dataTransfer.files));
  });
}

// Adding documents by dropping files and folders, one after the other, with progress. Without it, the form sends all.
"use strict";
{
  const form = document.getElementById("upload");
  const input = document.getElementById("file");
  const list = document.getElementById("uploads");
  const collection = document.getElementById("collection");
  const limit = Number(form.dataset.limit);
  const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

  form.querySelector(".hint").hidden = false;
  input.required = false;
  const folders = document.createElement("input");
  Object.assign(folders, { type: "file", webkitdirectory: true, hidden: true });
  const choose = document.createElement("button");
  Object.assign(choose, { type: "button", textContent: "Choose a folder" });
  choose.addEventListener("click", () => folders.click());
  form.querySelector("button.main").replaceWith(choose, folders);

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
      request.onerror = () => done([0, { message: "the server does not answer" }]);
      request.send(file);
    });
  }

  function row(name) {
    const item = document.createElement("li"), label = document.createElement("span");
    const progress = document.createElement("progress"), state = document.createElement("small");
    label.textContent = name;
    progress.value = 0;
    progress.setAttribute("aria-label", name);
    state.textContent = "waits";
    item.append(label, progress, state);
    list.append(item);
    return { item, progress, state };
  }

  async function add(name, file, { item, progress, state }) {
    let status = 413, reply = { message: `larger than ${Math.round(limit / 1e6)} MB` };
    if (file.size <= limit) {
      state.textContent = "is read";
      for (let attempt = 0; attempt < 5; attempt += 1) {
        [status, reply] = await send(name, file, progress);
        if (status !== 429) break;
        await pause(3);
      }
    }
    progress.remove();
    item.className = status === 200 ? "done" : "refused";
    state.textContent = status === 200 ? "added" : (reply.message || "could not be added").replace(`${name}: `, "");
    return status === 200;
  }

  let queue = Promise.resolve(), waiting = 0, refused = 0, added = 0;
  function addAll(files) {
    const folder = collection.value.trim().replace(/^\/+|\/+$/g, "");
    for (const [path, file] of files) {
      const name = folder ? `${folder}/${path}` : path, shown = row(name);
      waiting += 1;
      queue = queue.then(async () => {
        if (await add(name, file, shown)) added += 1;
        else refused += 1;
        waiting -= 1;
        // The list shows what was added; files that were refused stay in view until the reader has seen them.
        if (!waiting && added && !refused) location.assign("/documents");
        else if (!waiting && added) reload();
      });
    }
  }

  function reload() {
    if (document.getElementById("uploaded")) return;
    const link = document.createElement("a");
    Object.assign(link, { id: "uploaded", className: "button", href: "/documents", textContent: "Show the documents" });
    list.after(link);
  }

  const visible = (path) => !path.split("/").some((part) => part.startsWith("."));
  const chosen = (files) => [...files].map((file) => [file.webkitRelativePath || file.name, file]).filter(([path]) => visible(path));

  // All files below what was dropped, with their paths.
  async function below(entry) {
    if (entry.isFile) {
      const file = await new Promise((done, failed) => entry.file(done, failed));
      return [[entry.fullPath.replace(/^\//, ""), file]];
    }
    const reader = entry.createReader(), files = [];
    for (;;) {
      const entries = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (!entries.length) return files;
      for (const inner of entries) files.push(...(await below(inner)));
    }
  }

  for (const field of [input, folders]) {
    field.addEventListener("change", () => {
      addAll(chosen(field.files));
      field.value = "";
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const kind of ["dragenter", "dragover"]) {
    form.addEventListener(kind, (event) => { event.preventDefault(); form.classList.add("over"); });
  }
  form.addEventListener("dragleave", (event) => { if (!form.contains(event.relatedTarget)) form.classList.remove("over"); });
  form.addEventListener("drop", async (event) => {
    event.preventDefault();
    form.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const files = entries.length ? (await Promise.all(entries.map(below))).flat() : chosen(event.dataTransfer.files);
    addAll(files.filter(([path]) => visible(path)));
  });
}

// A browser starts no workers for a page from disk: there the search runs in a hidden frame.
if (location.protocol === "file:")
  window.Worker = class {
    #frame = document.createElement("iframe")
    #waiting = []
    constructor(url) {
      this.#frame.hidden = true
      document.body.append(this.#frame)
      const { contentWindow, contentDocument } = this.#frame
      contentWindow.postMessage = data => setTimeout(() => this.onmessage?.({ data: structuredClone(data) }))
      const script = contentDocument.createElement("script")
      script.src = url
      script.onload = () => {
        const waiting = this.#waiting
        this.#waiting = null
        waiting.forEach(data => this.postMessage(data))
      }
      script.onerror = event => this.onerror?.(event)
      contentDocument.head.append(script)
    }
    postMessage(data) {
      if (this.#waiting) this.#waiting.push(data)
      else this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }))
    }
    terminate() {
      this.#frame.remove()
    }
  }

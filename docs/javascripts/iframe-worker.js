// Browsers start no worker for a page that was opened from the disk, and the search of the site
// runs in one. There an empty frame of the page takes the worker's place.
if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement('iframe');
      this.frame.hidden = true;
      document.body.append(this.frame);
      const scope = this.frame.contentWindow;
      const script = scope.document.createElement('script');
      // What the script of the worker sends is the message of this object.
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent('message', { data }));
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      };
      script.onerror = () => this.dispatchEvent(new Event('error'));
      script.src = address;
      scope.document.body.append(script);
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent('message', { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}

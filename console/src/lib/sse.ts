/** Frame is one server-sent event. */
export interface Frame {
  id: string;
  data: string;
}

/** Frames cuts the text of an event stream into frames; comments are dropped. */
export class Frames {
  private rest = "";

  /** push takes the next piece of the stream and returns the frames that it completes. */
  push(piece: string): Frame[] {
    const parts = (this.rest + piece).replace(/\r\n?/g, "\n").split("\n\n");
    this.rest = parts.pop()!;
    const out: Frame[] = [];
    for (const part of parts) {
      const frame: Frame = { id: "", data: "" };
      const data: string[] = [];
      for (const line of part.split("\n")) {
        const colon = line.indexOf(":");
        if (colon <= 0) continue;
        const value = line.slice(colon + 1).replace(/^ /, "");
        if (line.slice(0, colon) === "id") frame.id = value;
        else if (line.slice(0, colon) === "data") data.push(value);
      }
      frame.data = data.join("\n");
      if (frame.id || frame.data) out.push(frame);
    }
    return out;
  }
}

import { plainText } from "../../terminal/printable-text.ts"

/** A stream to the terminal that other code of this process can write to: a plugin, or Node with a warning. */
export interface ForeignStream {
  write: NodeJS.WriteStream["write"]
}

/**
 * Sends what is written to the streams to `received`, line by line as plain text: written between two frames it would disturb the
 * screen. The returned function ends that, and passes on a line that was not finished.
 */
export function captureOutput(
  streams: readonly ForeignStream[],
  received: (lines: readonly string[]) => void,
): () => void {
  let unfinished = ""
  const write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString()
    const lines = plainText(unfinished + text)
      .replaceAll("\t", "    ")
      .split("\n")
    unfinished = lines.pop()?.slice(-MAX_UNFINISHED_CHARS) ?? ""
    if (lines.length > 0) received(lines)
    const done = rest.at(-1)
    if (typeof done === "function") process.nextTick(() => void done())
    return true
  }
  const originals = streams.map((stream) => stream.write)
  for (const stream of streams) stream.write = write
  return () => {
    for (const [index, stream] of streams.entries()) {
      const original = originals[index]
      if (stream.write === write && original !== undefined) stream.write = original
    }
    if (unfinished !== "") received([unfinished])
    unfinished = ""
  }
}

const MAX_UNFINISHED_CHARS = 10_000

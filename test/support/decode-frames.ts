import type { Frame } from "../../src/llm/http/sse.ts"
import type { ModelEvent } from "../../src/llm/model.ts"
import { createWireCodec } from "../../src/llm/route.ts"
import type { DecodeResult, Wire } from "../../src/llm/wire/wire.ts"

/** Decodes a stream as an exchange does: it ends at the first damaged frame. */
export function decodeFrames<State>(
  wire: Wire<State>,
  frames: readonly Frame[],
  how: { readonly ended: boolean } = { ended: true },
): { readonly finished: DecodeResult; readonly events: ModelEvent[] } {
  const decoder = createWireCodec(wire).decoder()
  const events: ModelEvent[] = []
  for (const frame of frames) {
    const decoded = decoder.take(frame)
    if (decoded === undefined) return { finished: decoder.finish({ ended: false }), events }
    events.push(...decoded)
  }
  return { finished: decoder.finish(how), events }
}

/** Strings are raw frames; objects are encoded as JSON. */
export function dataFrames(frames: readonly (object | string)[]): readonly Frame[] {
  return frames.map((frame) => ({ event: "", data: typeof frame === "string" ? frame : JSON.stringify(frame) }))
}

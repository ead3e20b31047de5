import { resolveReply } from "./resolve-reply.ts"
import type { ReplyTurn } from "./turn.ts"
import type { Frame, WireName } from "./wire.ts"
import { wireNamed } from "./wires/table.ts"

/** The frames in which the vendor streams a reply, for tests that cut or damage them. */
export function encodeStream(wire: WireName, turn: ReplyTurn): readonly Frame[] {
  return wireNamed(wire).stream(resolved(turn))
}

/** The body of the same reply when it is not streamed. */
export function encodeComplete(wire: WireName, turn: ReplyTurn): Buffer {
  return Buffer.from(JSON.stringify(wireNamed(wire).complete(resolved(turn))))
}

export function frameBytes(frames: readonly Frame[]): Buffer {
  return Buffer.concat(frames.map(({ bytes }) => (typeof bytes === "string" ? Buffer.from(bytes) : bytes)))
}

function resolved(turn: ReplyTurn) {
  return resolveReply(turn, { serial: 1, firstCallSerial: 1, model: "m", body: {}, match: {} })
}

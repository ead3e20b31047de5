import { z } from "zod"

import type { ScriptEntry, Turn } from "./turn.ts"
import { deltas, raw, repeat } from "./turn.ts"

/** Parses a script from JSON: a list of turns. A turn without `kind` is a reply. */
export function parseScript(text: string): ScriptEntry[] {
  const parsed = z.array(Entry).safeParse(JSON.parse(text))
  if (!parsed.success) throw new Error(`the script is not a list of turns:\n${z.prettifyError(parsed.error)}`)
  return parsed.data
}

const texts = z.union([z.string(), z.array(z.string())])
const count = z.int().min(0)

const delivery = {
  headers: z.record(z.string(), z.string()).exactOptional(),
  stallsAfter: z.union([z.strictObject({ bytes: count }), z.strictObject({ deltas: count })]).exactOptional(),
  cutsAfter: count.exactOptional(),
  chunkBytes: count.min(1).exactOptional(),
  chunkDelayMs: count.exactOptional(),
  corruptDelta: count.exactOptional(),
}

const Call = z.strictObject({
  name: z.string(),
  input: z.unknown(),
  id: z.string().exactOptional(),
  inputDeltas: z.array(z.string()).exactOptional(),
})

const Usage = z.strictObject({
  input: count.exactOptional(),
  output: count.exactOptional(),
  cacheRead: count.exactOptional(),
  cacheWrite: count.exactOptional(),
  reasoning: count.exactOptional(),
})

const replyFields = {
  reasoning: texts.exactOptional(),
  signature: z.string().exactOptional(),
  calls: z.array(Call).exactOptional(),
  blocks: z
    .array(
      z.union([
        z.strictObject({ reasoning: texts, signature: z.string().exactOptional() }),
        z.strictObject({ redacted: z.string() }),
        z.strictObject({ text: texts }),
        z.strictObject({ call: Call }),
      ]),
    )
    .exactOptional(),
  refusal: z.string().exactOptional(),
  usage: Usage.nullable().exactOptional(),
  finish: z.enum(["stop", "tool_calls", "length", "content_filter", "incomplete"]).exactOptional(),
  streamError: z.strictObject({ type: z.string(), message: z.string() }).exactOptional(),
  ...delivery,
}

const Reply = z.strictObject({ kind: z.literal("reply"), text: texts.exactOptional(), ...replyFields })

/** A reply of many equal deltas. */
const Deltas = z
  .strictObject({ kind: z.literal("deltas"), count, text: z.string(), ...replyFields })
  .transform(({ kind: _kind, count: times, text, ...rest }): Turn => deltas(times, text, rest))

const Status = z.strictObject({
  kind: z.literal("status"),
  status: count,
  body: z.unknown().exactOptional(),
  message: z.string().exactOptional(),
  ...delivery,
})

/** Recorded bytes: plain text, or base64 for binary streams. */
const Raw = z
  .strictObject({
    kind: z.literal("raw"),
    bytes: z.string().exactOptional(),
    base64: z.string().exactOptional(),
    ...delivery,
  })
  .transform(({ bytes, base64, ...rest }): Turn => ({
    ...raw(base64 === undefined ? (bytes ?? "") : Buffer.from(base64, "base64")),
    ...rest,
  }))

const Empty = z.strictObject({ kind: z.literal("empty"), ...delivery })
const HangUp = z.strictObject({ kind: z.literal("hang-up") })

const PlainTurn = z.preprocess(
  withKind,
  z.discriminatedUnion("kind", [Reply, Deltas, Status, Raw, Empty, HangUp]),
) satisfies z.ZodType<Turn>

const Repeated = z.strictObject({ kind: z.literal("repeat"), turn: PlainTurn }).transform(({ turn }) => repeat(turn))

const Entry: z.ZodType<ScriptEntry> = z.preprocess(
  withKind,
  z.discriminatedUnion("kind", [Reply, Deltas, Status, Raw, Empty, HangUp, Repeated]),
)

function withKind(value: unknown): unknown {
  return typeof value === "object" && value !== null && !("kind" in value) ? { kind: "reply", ...value } : value
}

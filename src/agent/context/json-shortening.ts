import { isRecord } from "../../base/json.ts"
import { takeCodePoints } from "../../base/text.ts"

/** Below this many characters per value, whole entries are removed instead of shortening each. */
const MIN_VALUE_CHARS = 60
const HEAD_SHARE = 0.75

/**
 * Shortens a list to about `max` characters of JSON. Long strings lose their middle; when there are too many entries to keep a part
 * of each, entries in the middle are removed.
 */
export function shortenArray(items: readonly unknown[], max: number): readonly unknown[] {
  if (JSON.stringify(items).length <= max) return items
  const sizes = items.map((item) => JSON.stringify(item ?? null).length + 1)
  const share = fairShare(sizes, max - 2)
  if (share >= MIN_VALUE_CHARS) {
    return items.map((item, index) => ((sizes[index] ?? 0) > share ? shortenValue(item, share - 1) : item))
  }
  const kept = middleOut(sizes, max - PLACEHOLDER_CHARS)
  return [
    ...items.slice(0, kept.head),
    `... [${items.length - kept.head - kept.tail} entries cut] ...`,
    ...items.slice(items.length - kept.tail),
  ].map((item) => shortenValue(item, max - PLACEHOLDER_CHARS))
}

/** The same for the values and fields of an object. */
export function shortenRecord(
  record: Readonly<Record<string, unknown>>,
  max: number,
): Readonly<Record<string, unknown>> {
  if (JSON.stringify(record).length <= max) return record
  const fields = Object.entries(record)
  const names = fields.map(([name]) => JSON.stringify(name).length + 2)
  const sizes = fields.map(([, value]) => (JSON.stringify(value) ?? "").length)
  const share = fairShare(
    sizes,
    names.reduce((sum, size) => sum - size, max - 2),
  )
  if (share >= MIN_VALUE_CHARS) {
    return Object.fromEntries(
      fields.map(([name, value], index) => [name, (sizes[index] ?? 0) > share ? shortenValue(value, share) : value]),
    )
  }
  const kept = middleOut(
    sizes.map((size, index) => size + (names[index] ?? 0)),
    max - PLACEHOLDER_CHARS,
  )
  const left = [...fields.slice(0, kept.head), ...fields.slice(fields.length - kept.tail)]
  return Object.fromEntries([...left, ["...", `[${fields.length - left.length} fields cut]`]])
}

const PLACEHOLDER_CHARS = 45

function shortenValue(value: unknown, max: number): unknown {
  if (typeof value === "string") return shortenString(value, max)
  if (Array.isArray(value)) return shortenArray(value, max)
  return isRecord(value) ? shortenRecord(value, max) : value
}

function shortenString(text: string, max: number): string {
  const size = JSON.stringify(text).length
  if (size <= max) return text
  // Quotes and newlines take two characters in JSON.
  const fitting = Math.floor((text.length * Math.max(0, max)) / size)
  const cut = `... [${text.length - fitting} characters cut] ...`
  const room = Math.max(0, fitting - cut.length - 4)
  const tail = Math.floor(room * (1 - HEAD_SHARE))
  const head = takeCodePoints(text, room - tail).toWellFormed()
  return `${head}\n${cut}\n${tail === 0 ? "" : text.slice(-tail).toWellFormed()}`
}

/** The largest size per value with which all values fit together; room that small values leave goes to the others. */
function fairShare(sizes: readonly number[], max: number): number {
  let room = max
  let left = sizes.length
  for (const size of sizes.toSorted((a, b) => a - b)) {
    const share = Math.floor(room / left)
    if (size > share) return share
    room -= size
    left -= 1
  }
  return max
}

/** How many entries fit at the start and at the end, more at the start. */
function middleOut(sizes: readonly number[], max: number): { readonly head: number; readonly tail: number } {
  const headRoom = max * HEAD_SHARE
  let [head, tail, used] = [0, 0, 0]
  while (head < sizes.length && used + (sizes[head] ?? 0) <= headRoom) {
    used += sizes[head] ?? 0
    head += 1
  }
  while (tail < sizes.length - head && used + (sizes[sizes.length - 1 - tail] ?? 0) <= max) {
    used += sizes[sizes.length - 1 - tail] ?? 0
    tail += 1
  }
  return { head, tail }
}

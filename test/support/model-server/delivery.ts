import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { setImmediate as nextLoop, setTimeout as delay } from "node:timers/promises"

import type { Delivery } from "./turn.ts"
import type { Frame } from "./wire.ts"

/** A response that is ready to send. */
export interface PreparedResponse {
  /** Null closes the connection without a response. */
  readonly status: number | null
  readonly headers: Readonly<Record<string, string>>
  readonly frames: readonly Frame[]
  readonly delivery: Delivery
}

/** Sends a response with the faults of its turn. Settles when nothing more will be sent. */
export async function deliver(prepared: PreparedResponse, response: ServerResponse): Promise<"sent" | "cut" | "lost"> {
  const connection = watchConnection(response)
  const { delivery } = prepared
  if (delivery.waitsFor !== undefined) await Promise.race([settled(delivery.waitsFor), connection.lost])
  if (connection.isLost()) return "lost"
  if (prepared.status === null) {
    response.destroy()
    return "cut"
  }
  response.writeHead(prepared.status, prepared.headers)
  if (hasFaults(delivery)) {
    await sendWithFaults(prepared, response, connection)
    if (connection.isLost()) return "lost"
    if (delivery.cutsAfter !== undefined) {
      response.destroy()
      return "cut"
    }
    response.end()
  } else response.end(joined(prepared.frames))
  await Promise.race([once(response, "finish"), connection.lost])
  return response.writableFinished ? "sent" : "lost"
}

/** The connection of a response. It is lost when the client disconnects or the server closes. */
interface Connection {
  readonly lost: Promise<void>
  isLost(): boolean
}

function watchConnection(response: ServerResponse): Connection {
  const { promise, resolve } = Promise.withResolvers<void>()
  response.once("close", () => resolve())
  return { lost: promise, isLost: () => response.destroyed }
}

function hasFaults(delivery: Delivery): boolean {
  return delivery.stallsAfter !== undefined || delivery.cutsAfter !== undefined || delivery.chunkBytes !== undefined
}

async function sendWithFaults(
  prepared: PreparedResponse,
  response: ServerResponse,
  connection: Connection,
): Promise<void> {
  const { stallsAfter, cutsAfter } = prepared.delivery
  const bytes = joinedBytes(prepared.frames)
  const end = Math.min(cutsAfter ?? bytes.length, bytes.length)
  response.flushHeaders()
  if (stallsAfter === undefined) {
    await send(bytes.subarray(0, end), { delivery: prepared.delivery, response, connection })
    return
  }
  const stop = Math.min("bytes" in stallsAfter ? stallsAfter.bytes : deltaEnd(prepared.frames, stallsAfter.deltas), end)
  await send(bytes.subarray(0, stop), { delivery: prepared.delivery, response, connection })
  await (stallsAfter.until === undefined
    ? connection.lost
    : Promise.race([settled(stallsAfter.until), connection.lost]))
  await send(bytes.subarray(stop, end), { delivery: prepared.delivery, response, connection })
}

async function send(
  bytes: Buffer,
  target: { delivery: Delivery; response: ServerResponse; connection: Connection },
): Promise<void> {
  const { delivery, response, connection } = target
  const size = delivery.chunkBytes ?? Math.max(bytes.length, 1)
  for (let start = 0; start < bytes.length && !connection.isLost(); start += size) {
    await Promise.race([written(response, bytes.subarray(start, start + size)), connection.lost])
    // Even without a delay, yield to the event loop so that each chunk is sent separately.
    if (delivery.chunkBytes !== undefined) await pause(delivery.chunkDelayMs ?? 0)
  }
}

async function settled(promise: Promise<unknown>): Promise<void> {
  await Promise.allSettled([promise])
}

async function pause(ms: number): Promise<void> {
  await (ms === 0 ? nextLoop() : delay(ms))
}

async function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  response.write(bytes, () => resolve())
  await promise
}

/** The offset after the frame of delta number `count`. */
function deltaEnd(frames: readonly Frame[], count: number): number {
  let offset = 0
  let seen = 0
  for (const frame of frames) {
    if (frame.delta) seen += 1
    if (seen > count) break
    offset += Buffer.byteLength(frame.bytes)
    if (seen === count && frame.delta) break
  }
  return offset
}

function joined(frames: readonly Frame[]): string | Buffer {
  const texts = frames.map((frame) => frame.bytes)
  return texts.every((bytes) => typeof bytes === "string") ? texts.join("") : joinedBytes(frames)
}

function joinedBytes(frames: readonly Frame[]): Buffer {
  return Buffer.concat(
    frames.map((frame) => (typeof frame.bytes === "string" ? Buffer.from(frame.bytes) : frame.bytes)),
  )
}

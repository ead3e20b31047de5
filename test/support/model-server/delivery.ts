import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { setImmediate as nextLoop, setTimeout as delay } from "node:timers/promises"

import type { Delivery } from "./turn.ts"
import type { Frame } from "./wire.ts"

/** An answer ready to travel. */
export interface Packet {
  /** Null closes the connection instead of answering. */
  readonly status: number | null
  readonly headers: Readonly<Record<string, string>>
  readonly frames: readonly Frame[]
  readonly delivery: Delivery
}

/** Sends a packet with the faults its turn asks for; settles when nothing more will be sent. */
export async function deliver(packet: Packet, response: ServerResponse): Promise<"sent" | "cut" | "lost"> {
  const link = watchLink(response)
  const { delivery } = packet
  if (delivery.waitsFor !== undefined) await Promise.race([settled(delivery.waitsFor), link.lost])
  if (link.isLost()) return "lost"
  if (packet.status === null) {
    response.destroy()
    return "cut"
  }
  response.writeHead(packet.status, packet.headers)
  if (hasFaults(delivery)) {
    await sendWithFaults(packet, response, link)
    if (link.isLost()) return "lost"
    if (delivery.cutsAfter !== undefined) {
      response.destroy()
      return "cut"
    }
    response.end()
  } else response.end(joined(packet.frames))
  await Promise.race([once(response, "finish"), link.lost])
  return response.writableFinished ? "sent" : "lost"
}

/** The connection under a response: it is lost when the client leaves or the server closes. */
interface Link {
  readonly lost: Promise<void>
  isLost(): boolean
}

function watchLink(response: ServerResponse): Link {
  const { promise, resolve } = Promise.withResolvers<void>()
  response.once("close", () => resolve())
  return { lost: promise, isLost: () => response.destroyed }
}

function hasFaults(delivery: Delivery): boolean {
  return delivery.stallsAfter !== undefined || delivery.cutsAfter !== undefined || delivery.chunkBytes !== undefined
}

async function sendWithFaults(packet: Packet, response: ServerResponse, link: Link): Promise<void> {
  const { stallsAfter, cutsAfter } = packet.delivery
  const bytes = joinedBytes(packet.frames)
  const end = Math.min(cutsAfter ?? bytes.length, bytes.length)
  response.flushHeaders()
  if (stallsAfter === undefined) {
    await send(bytes.subarray(0, end), { delivery: packet.delivery, response, link })
    return
  }
  const stop = Math.min("bytes" in stallsAfter ? stallsAfter.bytes : deltaEnd(packet.frames, stallsAfter.deltas), end)
  await send(bytes.subarray(0, stop), { delivery: packet.delivery, response, link })
  await (stallsAfter.until === undefined ? link.lost : Promise.race([settled(stallsAfter.until), link.lost]))
  await send(bytes.subarray(stop, end), { delivery: packet.delivery, response, link })
}

async function send(bytes: Buffer, way: { delivery: Delivery; response: ServerResponse; link: Link }): Promise<void> {
  const { delivery, response, link } = way
  const size = delivery.chunkBytes ?? Math.max(bytes.length, 1)
  for (let start = 0; start < bytes.length && !link.isLost(); start += size) {
    await Promise.race([written(response, bytes.subarray(start, start + size)), link.lost])
    // Without a pause of its own each chunk still gets its turn of the event loop, so that it travels alone.
    if (delivery.chunkBytes !== undefined) await pause(delivery.chunkDelayMs ?? 0)
  }
}

async function settled(moment: Promise<unknown>): Promise<void> {
  await Promise.allSettled([moment])
}

async function pause(ms: number): Promise<void> {
  await (ms === 0 ? nextLoop() : delay(ms))
}

async function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  response.write(bytes, () => resolve())
  await promise
}

/** The byte after the frame of delta number `count`. */
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

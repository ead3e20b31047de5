import type { Socket } from "node:net"

interface Limit {
  /** The bytes to wait for, or how many bytes. */
  readonly until: Buffer | number
  readonly maxBytes: number
}

/** Returns what has arrived once it is enough; undefined when the client closes first or sends too much. Leaves the socket paused. */
export async function readUntil(
  client: Socket,
  first: Buffer,
  { until, maxBytes }: Limit,
): Promise<Buffer | undefined> {
  let received = first
  const isEnough = (): boolean => (typeof until === "number" ? received.length >= until : received.includes(until))
  const { promise, resolve } = Promise.withResolvers<Buffer | undefined>()
  const onData = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk])
    if (isEnough() || received.length > maxBytes) settle(isEnough() ? received : undefined)
  }
  const onClose = (): void => {
    settle(undefined)
  }
  const settle = (result: Buffer | undefined): void => {
    client.off("data", onData)
    client.off("close", onClose)
    client.pause()
    resolve(result)
  }
  if (isEnough()) return received
  client.on("data", onData)
  client.once("close", onClose)
  client.resume()
  return await promise
}

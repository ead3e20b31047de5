import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** A model that requests commands and then answers. It keeps nothing but times, so any number of conversations can use it at once. */
export interface CommandModel extends AsyncDisposable {
  /** Ends in `/v1`. */
  readonly url: string
  /** Arrival times of the requests and the times at which the replies were sent, in milliseconds. Empties both lists. */
  takeTimes(): { readonly requests: readonly number[]; readonly replies: readonly number[] }
}

export interface CommandModelOptions {
  /** Commands of one conversation. */
  readonly calls: number
  /** How long the model thinks before each reply. */
  readonly thinkingMs?: number
}

export async function startCommandModel({ calls, thinkingMs = 0 }: CommandModelOptions): Promise<CommandModel> {
  let requests: number[] = []
  let replies: number[] = []
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", () => {
      requests.push(performance.now())
      const done = Buffer.concat(chunks).toString("latin1").split('"role":"tool"').length - 1
      const reply = (): void => {
        replies.push(performance.now())
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.end(done < calls ? callFrames(done) : REPLY_FRAMES)
      }
      if (thinkingMs === 0) reply()
      else setTimeout(reply, thinkingMs)
    })
  })
  const listening = Promise.withResolvers<void>()
  server.listen(0, "127.0.0.1", () => listening.resolve())
  await listening.promise
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    takeTimes: () => {
      const taken = { requests, replies }
      requests = []
      replies = []
      return taken
    },
    [Symbol.asyncDispose]: async () => {
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      server.closeAllConnections()
      await closed.promise
    },
  }
}

function callFrames(serial: number): string {
  const call = {
    index: 0,
    id: `call_${serial}`,
    type: "function",
    function: { name: "terminal", arguments: '{"command":"true"}' },
  }
  return frames([{ role: "assistant", content: null }, { tool_calls: [call] }], "tool_calls")
}

function frames(deltas: readonly object[], finish: string): string {
  const choices = [
    ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
    { index: 0, delta: {}, finish_reason: finish },
  ]
  const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "scripted" }
  const lines = choices.map((choice) => `data: ${JSON.stringify({ ...chunk, choices: [choice] })}\n\n`)
  return `${lines.join("")}data: [DONE]\n\n`
}

const REPLY_FRAMES = frames([{ role: "assistant", content: "" }, { content: "Done." }], "stop")

import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server"

const MAX_EVENTS = 500
const MAX_CHARS = 4_000_000

/** The newest messages of one session, so that a client which lost its connection receives what it missed. */
export function createEventStore(): EventStore {
  let events: {
    readonly id: string
    readonly stream: string
    readonly message: JSONRPCMessage
    readonly chars: number
  }[] = []
  let chars = 0
  let count = 0
  return {
    storeEvent: (stream, message) => {
      count += 1
      const event = { id: String(count), stream, message, chars: JSON.stringify(message).length }
      events.push(event)
      chars += event.chars
      while (events.length > MAX_EVENTS || (chars > MAX_CHARS && events.length > 1)) {
        const [oldest, ...rest] = events
        chars -= oldest?.chars ?? 0
        events = rest
      }
      return Promise.resolve(event.id)
    },
    getStreamIdForEventId: (id) => Promise.resolve(events.find((event) => event.id === id)?.stream),
    replayEventsAfter: async (lastId, { send }) => {
      const last = events.find(({ id }) => id === lastId)
      if (last === undefined) throw new Error("the messages after this event are no longer stored")
      const missed = events.filter(({ id, stream }) => stream === last.stream && Number(id) > Number(lastId))
      // An empty message marks the beginning of a stream and is not for the client.
      for (const { id, message } of missed) if (Object.keys(message).length > 0) await send(id, message)
      return last.stream
    },
  }
}

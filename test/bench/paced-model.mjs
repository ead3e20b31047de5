// `node paced-model.mjs DELTAS PER_SECOND`: answers every request with a stream of deltas at a fixed rate. Prints its URL.
import { createServer } from "node:http"

const [deltas = 0, perSecond = 1] = process.argv.slice(2).map(Number)
const WORDS =
  "amber basin cedar delta ember fjord grove harbor island jungle kernel lagoon meadow nebula oasis prairie".split(" ")

const server = createServer((request, response) => {
  request.resume()
  request.on("end", () => {
    if (request.method === "GET") {
      response
        .writeHead(200, { "content-type": "application/json" })
        .end('{"object":"list","data":[{"id":"scripted","object":"model"}]}')
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    const started = performance.now()
    let sent = 0
    const timer = setInterval(() => {
      const due = Math.min(deltas, Math.ceil(((performance.now() - started) * perSecond) / 1000))
      for (; sent < due; sent += 1) response.write(frame({ content: piece(sent) }, null))
      if (sent < deltas) return
      clearInterval(timer)
      response.end(`${frame({}, "stop")}data: [DONE]\n\n`)
    }, 2)
    response.on("close", () => clearInterval(timer))
  })
})
server.listen(0, "127.0.0.1", () =>
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`),
)

/** Prose with a paragraph every 60 words. */
function piece(index) {
  return index % 60 === 59 ? ".\n\n" : `${WORDS[(index * 7) % WORDS.length]} `
}

function frame(delta, finish) {
  const choice = { index: 0, delta, finish_reason: finish }
  return `data: ${JSON.stringify({ id: "paced", object: "chat.completion.chunk", created: 0, model: "scripted", choices: [choice] })}\n\n`
}

// A minimal Node program for one streamed reply: one request with node:http, one JSON.parse for each frame, one write.
// node one-shot.mjs BASE_URL [lean]
//
// Importing node:http as a module reads all its properties, one of which loads undici: about 20 ms that most scripts spend
// unknowingly. `lean` avoids it.
const http = process.argv[3] === "lean" ? process.getBuiltinModule("node:http") : await import("node:http")

const body = JSON.stringify({ model: "scripted", stream: true, messages: [{ role: "user", content: "Say hello." }] })
const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
const request = http.request(`${process.argv[2]}/chat/completions`, { method: "POST", headers }, (response) => {
  let buffered = ""
  let text = ""
  response.setEncoding("utf8")
  response.on("data", (chunk) => {
    const frames = (buffered + chunk).split("\n\n")
    buffered = frames.pop()
    for (const frame of frames) {
      if (frame === "data: [DONE]") continue
      text += JSON.parse(frame.slice("data: ".length)).choices[0]?.delta.content ?? ""
    }
  })
  response.on("end", () => {
    process.stdout.write(`${text}\n`, () => process.exit(0))
  })
})
request.end(body)

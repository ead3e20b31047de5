// The least a Node program can do for one streamed answer: one request on node:http, one JSON.parse a frame, one write.
// node one-shot.mjs BASE_URL [lean]
//
// Importing node:http as a module makes Node read every property of it, and one of them loads all of undici: some 20 ms that
// most scripts pay unknowingly. With `lean` this one does not.
const http = process.argv[3] === "lean" ? process.getBuiltinModule("node:http") : await import("node:http")

const body = JSON.stringify({ model: "scripted", stream: true, messages: [{ role: "user", content: "Say hello." }] })
const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
const call = http.request(`${process.argv[2]}/chat/completions`, { method: "POST", headers }, (response) => {
  let rest = ""
  let text = ""
  response.setEncoding("utf8")
  response.on("data", (chunk) => {
    const frames = (rest + chunk).split("\n\n")
    rest = frames.pop()
    for (const frame of frames) {
      if (frame === "data: [DONE]") continue
      text += JSON.parse(frame.slice("data: ".length)).choices[0]?.delta.content ?? ""
    }
  })
  response.on("end", () => {
    process.stdout.write(`${text}\n`, () => process.exit(0))
  })
})
call.end(body)

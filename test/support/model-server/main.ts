/** The model server as a process of its own: `node main.ts --script FILE.json [--record FILE.jsonl] [--repeat]`. */
import { once } from "node:events"
import { openSync, writeSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { parseArgs } from "node:util"

import type { RecordedRequest } from "./recorded-request.ts"
import { parseScript } from "./script-file.ts"
import type { ModelServer } from "./server.ts"
import { startModelServer } from "./server.ts"

/** Starts the server that a command line asks for. */
export async function serveScript(args: readonly string[]): Promise<ModelServer> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      script: { type: "string" },
      record: { type: "string" },
      repeat: { type: "boolean", default: false },
    },
  })
  if (values.script === undefined) throw new Error("name the script: --script FILE.json")
  const script = parseScript(await readFile(values.script, "utf8"))
  const recorder = values.record === undefined ? {} : { onRequest: recordInto(values.record) }
  return await startModelServer(script, { cycle: values.repeat, ...recorder })
}

/** One JSON line for each request, on disk before the request is answered. */
function recordInto(path: string): (request: RecordedRequest) => void {
  const file = openSync(path, "w")
  return ({ wire, method, path: asked, headers, rawBody, body, at }) => {
    writeSync(file, `${JSON.stringify({ wire, method, path: asked, headers, rawBody, body, at })}\n`)
  }
}

if (import.meta.main) {
  const server = await serveScript(process.argv.slice(2))
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
  await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")])
  await server.close()
}

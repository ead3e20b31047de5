/** Runs the model server as a separate process: `node main.ts --script FILE.json [--record FILE.jsonl] [--repeat]`. */
import { once } from "node:events"
import { openSync, writeSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { parseArgs } from "node:util"

import type { RecordedRequest } from "./recorded-request.ts"
import { parseScript } from "./script-file.ts"
import type { ModelServer } from "./server.ts"
import { startModelServer } from "./server.ts"

/** Starts a server for these command-line arguments. */
export async function serveScript(args: readonly string[]): Promise<ModelServer> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      script: { type: "string" },
      record: { type: "string" },
      repeat: { type: "boolean", default: false },
    },
  })
  if (values.script === undefined) throw new Error("missing option --script FILE.json")
  const script = parseScript(await readFile(values.script, "utf8"))
  const recorder = values.record === undefined ? {} : { onRequest: createRecorder(values.record) }
  return await startModelServer(script, { cycle: values.repeat, ...recorder })
}

/** Appends one JSON line for each request, before the server responds to it. */
function createRecorder(file: string): (request: RecordedRequest) => void {
  const descriptor = openSync(file, "w")
  return ({ wire, method, path, headers, rawBody, body, at }) => {
    writeSync(descriptor, `${JSON.stringify({ wire, method, path, headers, rawBody, body, at })}\n`)
  }
}

if (import.meta.main) {
  const server = await serveScript(process.argv.slice(2))
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
  await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")])
  await server.close()
}

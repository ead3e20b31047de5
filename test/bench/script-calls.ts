import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import { recordsIn } from "../support/model-server/request-parts.ts"
import type { Measurement, Row } from "./measurement.ts"
import { timeCommand } from "./rounds.ts"
import { startScriptedModel } from "./scripted-model.ts"
import type { ReceivedRequest } from "./scripted-model.ts"

const CALLS = 10
const FILES = Array.from({ length: CALLS }, (_, index) => `module-${index + 1}.txt`)
const ANSWER = "Done."

const BY_TURNS = [...FILES.map((path) => ({ calls: [{ name: "read_file", input: { path } }] })), { text: ANSWER }]

const CODE = `import { read_file } from "hermes_tools"
const found = []
for (let number = 1; number <= ${CALLS}; number += 1) {
  const { content } = await read_file("module-" + number + ".txt")
  found.push(...content.split("\\n").filter((line) => line.includes("TODO")))
}
console.log(found.join("\\n"))`

const BY_SCRIPT = [{ calls: [{ name: "execute_code", input: { code: CODE } }] }, { text: ANSWER }]

/** The same task, to find the open points in ten files, with one call per turn and with one script that makes the ten calls. */
export const scriptCalls: Measurement = {
  name: "script-calls",
  run: async () => {
    const turns = await sent(BY_TURNS)
    const script = await sent(BY_SCRIPT)
    return [
      side("turns", turns),
      side("one script", script),
      { name: `${CALLS} calls by turns, requests`, unit: "count", ours: turns.length },
      { name: `${CALLS} calls by one script, requests`, unit: "count", ours: script.length },
      saving("bytes", bytesOf(turns), { less: bytesOf(script), atLeast: 0.6 }),
      saving("requests", turns.length, { less: script.length, atLeast: 0.8 }),
    ]
  },
}

async function sent(script: readonly object[]): Promise<readonly ReceivedRequest[]> {
  await using model = await startScriptedModel(script)
  await Promise.all(FILES.map((name, index) => writeFile(join(model.home.workdir, name), fileText(index))))
  const { stdout } = await timeCommand(model.hermes("-z", "List the open points in the ten files."))
  if (stdout !== `${ANSWER}\n`) throw new Error(`unexpected output: ${stdout}`)
  const requests = await model.takeRequests()
  // Old results are shortened, so each is looked for in the request that first contained it.
  const text = requests
    .flatMap(({ body }) => recordsIn(body, "messages").filter((message) => message["role"] === "tool"))
    .map(({ content }) => String(content))
    .join("\n")
  const found = FILES.filter((_name, index) => text.includes(`TODO ${index + 1}:`))
  if (found.length !== CALLS) throw new Error(`${found.length} of ${CALLS} files were read: ${text.slice(0, 500)}`)
  return requests
}

/** A source file of ordinary length with one open point. */
function fileText(index: number): string {
  const lines = Array.from({ length: 60 }, (_, line) => `const value${line} = compute(${index}, ${line})`)
  return [...lines, `// TODO ${index + 1}: handle the empty list`, ""].join("\n")
}

function side(name: string, requests: readonly ReceivedRequest[]): Row {
  return { name: `${CALLS} calls by ${name}, sent`, unit: "bytes", ours: bytesOf(requests) }
}

function saving(
  what: string,
  before: number,
  { less, atLeast }: { readonly less: number; readonly atLeast: number },
): Row {
  return { name: `${what} saved by one script`, unit: "share", ours: 1 - less / before, target: { atLeast } }
}

function bytesOf(requests: readonly ReceivedRequest[]): number {
  return requests.reduce((sum, { rawBody }) => sum + Buffer.byteLength(rawBody), 0)
}

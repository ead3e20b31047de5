import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const ENVIRONMENT = "canary-environment-4711-abcdef"
const DOTENV = "canary-dotenv-4712/ghi+jkl"
const CONFIG = "canary-config-4713-mnopqr"
const CANARIES = [ENVIRONMENT, DOTENV, CONFIG]

/** Every form in which a canary must not appear. */
const FORMS = CANARIES.flatMap((canary) => [
  canary,
  Buffer.from(canary).toString("base64").slice(0, -4),
  Buffer.from(canary).toString("hex"),
  encodeURIComponent(canary),
  Array.from(canary).toReversed().join(""),
])

/** Prints everything that a script can get hold of. */
const SCRIPT = `import { readFileSync } from "node:fs"
import { read_file, terminal } from "hermes_tools"
console.log(process.env, readFileSync("leaked.txt", "utf8"))
console.error(readFileSync("leaked.txt", "utf8"))
console.log(await read_file("leaked.txt"), await terminal("env; cat leaked.txt"))
for (const path of ["/proc/" + process.ppid + "/environ", process.env.HERMES_HOME + "/.env"])
  try { console.log(readFileSync(path, "utf8")) } catch (error) { console.log(error.code) }
process.exit(1)`

const PYTHON_SCRIPT = `import os
from hermes_tools import read_file
print(dict(os.environ), open("leaked.txt").read(), read_file("leaked.txt"))
raise RuntimeError(open("leaked.txt").read())`

test("planted secrets are in no request, event, transcript, log or child environment", async () => {
  const everything = CANARIES.map((canary) =>
    [
      canary,
      Buffer.from(canary).toString("base64"),
      Buffer.from(`xy${canary}`).toString("base64"),
      Buffer.from(canary).toString("hex"),
      encodeURIComponent(canary),
      `"${canary.slice(0, 11)}" + "${canary.slice(11)}"`,
      Array.from(canary).toReversed().join(""),
    ].join("\n"),
  ).join("\n")
  await using app = await assembleApp(
    [
      callsTool("terminal", { command: "env; cat leaked.txt; cat leaked.txt >&2; exit 3" }),
      callsTool("read_file", { path: "leaked.txt" }),
      callsTool("search_files", { pattern: "canary", target: "content" }),
      callsTool("terminal", {
        command: "base64 leaked.txt; cat /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n'; exit 0",
      }),
      callsTool("terminal", { command: `echo ${DOTENV}` }),
      callsTool("execute_code", { code: SCRIPT }),
      callsTool("execute_code", { language: "python", code: PYTHON_SCRIPT }),
      says(`The key is ${ENVIRONMENT} and ${CONFIG}.`),
    ],
    {
      env: { DEPLOY_API_KEY: ENVIRONMENT },
      files: { ".env": `OTHER_TOKEN=${DOTENV}\n` },
      config: `  api_key: ${CONFIG}\nlogging:\n  level: DEBUG\n`,
      workFiles: { "leaked.txt": everything },
    },
  )
  const session = await app.open({ attended: false })
  const { events } = await runToEnd(session, "go")
  await session.close("test_end")
  await app.app.close()
  const results = app.model.requests.flatMap((_, index) => app.model.toolResults(index).map(({ text }) => text))
  expect(found(results.join("\n"))).toEqual([])
  expect(results.filter((text) => text.includes('"tool_calls_made":'))).toHaveLength(2)
  expect(found(JSON.stringify(events))).toEqual([])
  // The settings and their cache are where the secrets live.
  for (const path of filesBelow(app.home.path))
    if (!/config\.yaml$|config\.parsed\.json$|\.env$/u.test(path))
      expect([path, found(readFileSync(path, "latin1"))]).toEqual([path, []])
})

function found(text: string): readonly string[] {
  return FORMS.filter((form) => text.includes(form))
}

function filesBelow(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )
}

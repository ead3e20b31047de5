import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { says } from "../support/model-server/turn.ts"
import { runProcess } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { settingsFor } from "./hermes-process.ts"

const REPOSITORY = resolve(import.meta.dirname, "..", "..")

/** Packs the built package, unpacks it into `node_modules` and links its dependencies, which an installation would download. */
function install(directory: string): void {
  const staging = join(directory, "staging")
  mkdirSync(staging)
  for (const name of ["package.json", "dist", "LICENSE", "README.md"])
    cpSync(join(REPOSITORY, name), join(staging, name), { recursive: true })
  execFileSync(process.execPath, [join(REPOSITORY, "scripts/build-types.mjs"), join(staging, "dist/types")])
  execFileSync("npm", ["pack", "--ignore-scripts", "--silent"], { cwd: staging })
  const installed = join(directory, "node_modules", "hermes-agent")
  mkdirSync(installed, { recursive: true })
  const { version, dependencies } = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8")) as {
    readonly version: string
    readonly dependencies: Readonly<Record<string, string>>
  }
  const archive = join(staging, `hermes-agent-${version}.tgz`)
  execFileSync("tar", ["-xzf", archive, "-C", installed, "--strip-components=1"])
  for (const name of [...Object.keys(dependencies), "@types/node", "undici-types"]) {
    mkdirSync(join(directory, "node_modules", name, ".."), { recursive: true })
    symlinkSync(join(REPOSITORY, "node_modules", name), join(directory, "node_modules", name))
  }
}

const TYPED = `import { openHermes } from "hermes-agent"
import type { AgentEvent, Hermes, HermesSession, RunEnd } from "hermes-agent"

const hermes: Hermes = await openHermes({ environment: process.env })
const session: HermesSession = await hermes.openSession({ answersQuestions: true })
const ended = (event: AgentEvent): event is AgentEvent & RunEnd => event.type === "run-end"
for await (const event of session.run("hello", { signal: AbortSignal.timeout(1000) })) {
  if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice: "deny" })
  const text: string | null = ended(event) ? event.result.finalResponse : null
  console.log(text)
}
// @ts-expect-error: the signal is required
await session.ask("hello")
`

test("the packed package can be imported with types, and the example of the guide runs a turn", async () => {
  await using model = await startModelServer([says("A small project.")])
  await using home = await temporaryHome({ config: settingsFor(model), workFiles: { "package.json": "{}" } })
  const directory = join(home.userHome, "program")
  mkdirSync(directory)
  install(directory)

  const guide = readFileSync(join(REPOSITORY, "docs/guides/library.md"), "utf8")
  const [, example = ""] = /```js\n([^]*?)```/u.exec(guide) ?? []
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }')
  writeFileSync(join(directory, "example.js"), example)
  const run = { command: process.execPath, args: [join(directory, "example.js")], env: home.env, cwd: home.workdir }
  expect(await runProcess(run)).toMatchObject({ code: 0, stdout: "A small project.", stderr: "" })
  expect(model.view(0).messages.at(-1)?.text).toContain("What does this project do?")

  writeFileSync(join(directory, "typed.ts"), TYPED)
  const options = { module: "nodenext", target: "es2024", strict: true, noEmit: true, exactOptionalPropertyTypes: true }
  const compilerOptions = { ...options, skipLibCheck: false, types: ["node"] }
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["typed.ts"] }))
  const tsc = join(REPOSITORY, "node_modules/typescript/bin/tsc")
  const checked = await runProcess({ command: [process.execPath, tsc], env: home.env, cwd: directory })
  expect(checked).toMatchObject({ code: 0, stdout: "" })
}, 120_000)

import { readFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { says } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

const PLUGIN = "plugins:\n  enabled: [bad]\n"
/** Short only where a plugin blocks: a busy machine must not look like one. */
const IMPATIENT = `${PLUGIN}  block_limit_seconds: 0.5\n`
const MANIFEST = "name: bad\ncapabilities: [hooks, commands, cli]\n"
const onMessage = (body: string): string =>
  `export default (context) => { context.registerHook("pre_llm_call", ${body}) }\n`

async function homeWith(module: string, settings = module.includes("for (;;)") ? IMPATIENT : PLUGIN) {
  const model = await startModelServer([says("the answer"), says("the answer")])
  const home = await temporaryHome({
    config: settingsFor(model, settings),
    files: { "plugins/bad/plugin.yaml": MANIFEST, "plugins/bad/index.mjs": module },
  })
  return {
    home,
    [Symbol.asyncDispose]: async () => {
      await home[Symbol.asyncDispose]()
      await model[Symbol.asyncDispose]()
    },
  }
}

describe("a plugin that misbehaves is named, disabled for this run, and the session goes on", () => {
  test.each([
    [
      "loops in its module",
      "for (;;);\nexport default () => {}\n",
      /blocked Hermes for more than 0\.5 s in its module/u,
    ],
    ["loops in register", "export default () => { for (;;); }\n", /blocked Hermes for more than 0\.5 s in register/u],
    ["exits in register", "export default () => process.exit(0)\n", /called process\.exit in register/u],
    [
      "exits after an await",
      'import { exit } from "node:process"\nexport default async () => { await 1; try { exit(0) } catch {} }\n',
      /called process\.exit in register/u,
    ],
    ["loops in a hook", onMessage("() => { for (;;); }"), /blocked Hermes for more than 0\.5 s in pre_llm_call/u],
    ["exits in a hook", onMessage("() => process.exit(0)"), /called process\.exit in pre_llm_call/u],
    ["kills the process", onMessage('() => process.kill(process.pid, "SIGKILL")'), /called process\.kill/u],
    [
      "leaves a rejection unhandled",
      onMessage('() => { void Promise.reject(new Error("boom")) }'),
      /background work was not handled: boom/u,
    ],
    [
      "throws in a timer",
      onMessage('() => { setTimeout(() => { throw new Error("boom") }, 0) }'),
      /background work was not handled: boom/u,
    ],
  ])("%s", async (_name, module, reason) => {
    await using setup = await homeWith(module)
    const run = await hermes(setup.home, ["-q", "hello"])
    expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining("the answer") })
    const named = run.stderr.split("\n").filter((line) => line.includes("plugin bad"))
    expect(named).toEqual([expect.stringMatching(reason)])
  })
})

test("names of built-in commands are refused with a warning", async () => {
  await using setup = await homeWith(`export default (context) => {
  for (const name of ["quit", "mine"]) context.registerCommand({ name, handler: () => "mine" })
  for (const name of ["version", "mine"]) context.registerCliCommand({ name, help: "x", run: (_args, output) => output.line("mine") })
}
`)
  await hermes(setup.home, ["-z", "hello"])
  const log = readFileSync(join(setup.home.path, "logs/agent.log"), "utf8")
  expect(log.match(/there is already a command .*?;/gu)).toEqual([
    "there is already a command /quit;",
    "there is already a command hermes version;",
  ])
  expect((await hermes(setup.home, ["mine"])).stdout).toBe("mine\n")
})

test("a command of a plugin that exits is an error of this command", async () => {
  await using setup = await homeWith(
    'export default (context) => context.registerCliCommand({ name: "mine", help: "x", run: () => process.exit(0) })\n',
  )
  expect(await hermes(setup.home, ["mine"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("it called process.exit in hermes mine"),
  })
})

test("a plugin that has blocked Hermes is left out until it is enabled again", async () => {
  await using setup = await homeWith("export default () => { for (;;); }\n")
  await hermes(setup.home, ["-z", "hello"])
  const next = await hermes(setup.home, ["-q", "hello"])
  expect(next.stderr).toContain("The plugin bad was not loaded: it blocked Hermes")
  expect(next.stderr).toContain("`hermes plugins enable bad`")
  expect((await hermes(setup.home, ["plugins", "list"])).stdout).toMatch(/blocked Hermes/u)
  await hermes(setup.home, ["plugins", "enable", "bad"])
  expect((await hermes(setup.home, ["plugins", "list"])).stdout).toMatch(/bad .* enabled/u)
})

test.each([
  ["after an await", "export default async () => { await 1; for (;;); }\n"],
  ["in a timer", onMessage("() => new Promise(() => { setTimeout(() => { for (;;); }, 0) })")],
])("a plugin that never returns %s ends Hermes with a sentence and is left out next time", async (_name, module) => {
  await using setup = await homeWith(module)
  const first = await hermes(setup.home, ["-q", "hello"])
  expect(first.code).toBe(1)
  expect(first.stderr).toBe(
    "Hermes had to exit, because the plugin bad did not return; it is not loaded again until you run `hermes plugins enable bad`.\n",
  )
  const next = await hermes(setup.home, ["-q", "hello"])
  expect(next).toMatchObject({ code: 0, stdout: expect.stringContaining("the answer") })
})

test("a plugin that waits for a program without end cannot keep Hermes for ever", async () => {
  await using setup = await homeWith(
    `import { execSync } from "node:child_process"\n${onMessage('() => execSync("sleep 5")')}`,
    IMPATIENT.replace("0.5", "0.1"),
  )
  const run = await hermes(setup.home, ["-q", "hello"])
  expect(run.code).not.toBe(0)
  expect(run.stderr).toContain("the plugin bad did not return")
})

import { mkdirSync, writeFileSync } from "node:fs"
import { setImmediate as nextTick } from "node:timers/promises"

import { expect, test } from "vitest"

import { manualClock } from "../../test/support/manual-clock.ts"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import { createLogger } from "../base/logger.ts"
import { environmentFrom } from "../config/environment.ts"
import { resolveHome } from "../config/home.ts"
import { loadConfig } from "../config/load-config.ts"
import { loadPlugins } from "./load-plugins.ts"

test("a plugin that hangs in register is given up after 10 seconds, and what it registered is gone", async () => {
  await using temporary = await temporaryHome({
    config: "plugins:\n  enabled: [slow, good]\n",
    files: {
      "plugins/slow/plugin.yaml": "name: slow\ncapabilities: [hooks]\n",
      "plugins/slow/index.mjs":
        'export default async (context) => { context.registerHook("pre_tool_call", () => ({ action: "block", message: "x" })); await new Promise(() => {}) }\n',
      "plugins/good/plugin.yaml": "name: good\n",
      "plugins/good/index.mjs":
        'export default (context) => context.registerPromptSection({ id: "a", text: "Be kind." })\n',
    },
  })
  const environment = environmentFrom(temporary.env)
  const home = resolveHome(environment)
  mkdirSync(home.file("plugins", "empty"))
  writeFileSync(home.file("plugins", "file"), "")
  const clock = manualClock()
  const log = createLogger({ sinks: [], clock, redact: (line) => line })
  const config = await loadConfig({ home, environment })
  const no = (): boolean => false
  const state = { done: false }
  const loading = loadPlugins({
    home,
    environment,
    config,
    cwd: temporary.workdir,
    version: "0.1.0",
    clock,
    log,
    builtins: { builtinTool: no, builtinToolset: no, command: no, cliCommand: no, modelProvider: no },
  }).finally(() => {
    state.done = true
  })
  while (!state.done) {
    const next = clock.nextWakeTime()
    if (next !== undefined) await clock.advance(Math.max(0, next - clock.now()))
    await nextTick()
  }
  const plugins = await loading
  expect(plugins.problems).toEqual(["the plugin slow was not loaded: register took longer than 10 s"])
  expect(plugins.all().flatMap(({ listeners }) => listeners)).toEqual([])
  expect(plugins.all().flatMap(({ promptSections }) => promptSections)).toEqual([{ id: "a", text: "Be kind." }])
  await plugins.release()
})

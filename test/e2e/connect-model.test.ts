import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { repeat, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome, type TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { IDLE, reopen } from "./full-chat.ts"
import { hermes } from "./hermes-process.ts"

/** The settings name a model of a vendor for which there is no key. */
const NO_KEY =
  "model:\n  provider: deepseek\n  default: deepseek-v4-pro\nauxiliary:\n  title_generation:\n    provider: none\n"
const KEY = "sk-typed-0123456789abcdef"
const MODELS = ["deepseek-v4-pro", "deepseek-v4-flash"]
const PROBLEM = "DeepSeek needs a key: set it with `hermes config set DEEPSEEK_API_KEY …`"

/** The scripted server answers as the vendor, through a proxy: a server of this machine would need no key. */
function behindProxy(url: string): Readonly<Record<string, string>> {
  return { DEEPSEEK_BASE_URL: "http://models.example/v1", HTTP_PROXY: url }
}

/** The files of the home that contain the text. */
function filesWith(home: TemporaryHome, text: string): readonly string[] {
  return readdirSync(home.path, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(home.path, name)).isFile())
    .filter((name) => readFileSync(join(home.path, name)).includes(text))
}

test("a home whose model has no key opens, and /model connects it with a key that nothing shows", async () => {
  await using model = await startModelServer([repeat(says("Connected now."))], { models: MODELS })
  await using home = await temporaryHome({ config: NO_KEY, env: behindProxy(model.url) })
  const script = await hermes(home, ["-z", "hi"])
  expect([script.code, script.stdout, script.stderr]).toEqual([1, "", `${PROBLEM}\n`])
  await using chat = await reopen({ model, home }, { columns: 100 })
  await chat.waitFor("/model connects a provider or chooses another model.")
  await chat.waitForScreen(IDLE)
  expect(chat.screen().join("\n")).toContain(PROBLEM)
  chat.send("are you there?")
  await chat.waitFor("The message was not sent.")
  await chat.waitFor("Your message comes back to the input line when a model is connected.")
  await chat.waitForScreen(IDLE)
  expect(model.requests).toEqual([])
  chat.send("/model")
  await chat.waitForScreen("Not connected yet")
  chat.type("deepseek")
  await chat.waitForScreen("needs a key")
  chat.press("enter")
  await chat.waitForScreen("Key for DeepSeek")
  chat.type(KEY)
  await chat.waitForScreen("Use what you typed")
  chat.press("enter")
  await chat.waitForScreen("deepseek-v4-flash")
  chat.press("enter")
  await chat.waitFor("Switched to deepseek-v4-pro (deepseek).")
  await chat.waitForScreen(/^❯ are you there\?$/mu)
  chat.press("enter")
  await chat.waitFor("Connected now.")
  expect(model.requests[0]?.headers["authorization"]).toBe(`Bearer ${KEY}`)
  chat.send("/new now")
  await chat.waitFor("Started a new conversation.")
  chat.send("again")
  await expect.poll(() => model.requests.length).toBe(2)
  chat.send("/quit")
  await chat.exit
  expect(chat.output).not.toContain("0123456789")
  expect(filesWith(home, KEY)).toEqual([".env"])
  expect(readFileSync(join(home.path, "config.yaml"), "utf8")).toContain("provider: deepseek")
})

test("in line mode, /model asks for the key of a provider, and a refused key is not stored", async () => {
  await using model = await startModelServer([repeat(says("Connected now."))], {
    routes: { "GET /v1/models": { kind: "status", status: 401, body: {} } },
  })
  await using home = await temporaryHome({ config: NO_KEY, env: behindProxy(model.url) })
  await using terminal = await openTerminal({ command: hermesCommand(), env: home.env, cwd: home.workdir })
  await terminal.waitFor(/Hermes · no model · [^]*you>/u)
  terminal.type("/model\r")
  await terminal.waitFor("No model is connected. /model PROVIDER connects a provider")
  terminal.type("/model deepseek\r")
  await terminal.waitFor("DEEPSEEK_API_KEY (not shown")
  terminal.type("/quit\r")
  await terminal.waitFor("No key was stored.")
  terminal.type("/model --provider deepseek deepseek-v4-pro\r")
  await terminal.waitFor(/DEEPSEEK_API_KEY \(not shown[^]*DEEPSEEK_API_KEY \(not shown/u)
  terminal.type(`${KEY}\r`)
  await terminal.waitFor("DeepSeek refuses the key.")
  terminal.type("exit\r")
  await terminal.exit
  expect(terminal.output).not.toContain(KEY)
  expect(filesWith(home, KEY)).toEqual([])
})

test("the first question of a home without a model is a list inside the interface, shown once", async () => {
  await using model = await startModelServer([repeat(says("Here."))], { models: MODELS })
  await using home = await temporaryHome({ env: behindProxy(model.url) })
  await using chat = await reopen({ model, home })
  await chat.waitForScreen("No model is connected yet.")
  await chat.waitForScreen("Use the demo")
  chat.press("down")
  chat.press("enter")
  await chat.waitForScreen("Not connected yet")
  chat.type("deepseek")
  await chat.waitForScreen("needs a key")
  chat.press("enter")
  await chat.waitForScreen("Key for DeepSeek")
  chat.type(KEY)
  await chat.waitForScreen("Use what you typed")
  chat.press("enter")
  await chat.waitForScreen("deepseek-v4-flash")
  chat.press("enter")
  await chat.waitFor("What shall we work on?")
  await chat.waitForScreen(IDLE)
  chat.send("hello")
  await chat.waitFor("Here.")
  expect(chat.everything()).not.toContain("No model is connected yet.")
  expect(chat.everything().match(/What shall we work on\?/gu)).toHaveLength(1)
  expect(filesWith(home, KEY)).toEqual([".env"])
  chat.send("/quit")
  await chat.exit
})

test("a first message typed into that list is for the demo", async () => {
  await using model = await startModelServer([])
  await using home = await temporaryHome()
  await using chat = await reopen({ model, home })
  await chat.waitForScreen("Use the demo")
  chat.type("use a provider")
  await chat.waitForScreen("› Use “use a provider”")
  chat.press("enter")
  await chat.waitFor("Replies come from the demo")
  await chat.waitForScreen(/❯ use a provider/u)
  chat.send("/quit")
  await chat.exit
})

import { existsSync, readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"

import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { manualClock } from "../../../test/support/manual-clock.ts"
import { assembleApp, runToEnd } from "../../../test/integration/assembled-app.ts"
import { startModelServer } from "../../../test/support/model-server/server.ts"
import { says } from "../../../test/support/model-server/turn.ts"
import { fail, ok } from "../../base/result.ts"
import type { Choice, ChoiceList } from "../choice-list.ts"
import { agentList } from "./agent-list.ts"
import { messageList } from "./message-list.ts"
import { modelList } from "./model-list.ts"
import { LATER_SESSIONS } from "./model-choice.ts"
import { permissionList } from "./permission-list.ts"
import { personalityList } from "./personality-list.ts"
import { rollbackList } from "./rollback-list.ts"
import { sessionList } from "./session-list.ts"
import { settingsList } from "./settings-list.ts"
import { skinList } from "./skin-list.ts"

const { signal } = new AbortController()

async function load<T>(list: ChoiceList<T>): Promise<readonly Choice<T>[]> {
  return (await list.load(signal)).choices
}

async function choose<T>(list: ChoiceList<T>, choice: T, mode?: string) {
  const selection = await list.select?.(choice, { mode, signal })
  if (selection === undefined) throw new Error("the list ends with this choice")
  return selection
}

async function openList<T>(list: ChoiceList<T>, choice: T, mode?: string): Promise<ChoiceList<T>> {
  const selection = await choose(list, choice, mode)
  if (selection.kind !== "open") throw new Error(`expected a list, not ${selection.kind}`)
  return selection.list
}

async function act<T>(list: ChoiceList<T>, chord: string, choice: Choice<T>, input = ""): Promise<string | undefined> {
  const action = list.actions?.find((each) => each.chord === chord)
  if (action === undefined) throw new Error(`no action ${chord}`)
  return await action.run(choice, { input, signal })
}

function first<T>(choices: readonly Choice<T>[]): Choice<T> {
  const [choice] = choices
  if (choice === undefined) throw new Error("the list is empty")
  return choice
}

test("sessions: listed, found by their messages, renamed and deleted; earlier messages can be gone back to", async () => {
  await using assembled = await assembleApp([says("The sky is azure."), says("Yes."), says("Other.")])
  const { app } = assembled
  const session = await assembled.open()
  await runToEnd(session, "colour of the sky?")
  await runToEnd(session, "sure?")
  const other = await assembled.open()
  await runToEnd(other, "another matter")
  await (await app.store()).setTitle(session.id, "Sky")

  const list = sessionList(app, { current: other.id })
  const choices = await load(list)
  expect(choices.map(({ label, description, isCurrent }) => [label, description, isCurrent])).toEqual([
    ["another matter", undefined, true],
    ["Sky", "colour of the sky?", false],
  ])
  expect(choices[1]?.details).toEqual(["just now", "4 msgs", "cli"])
  expect((await list.search?.("azure", signal))?.map(({ value, label }) => [value, label])).toEqual([
    [session.id, "Sky"],
  ])

  const sky = choices.find(({ value }) => value === session.id) ?? first(choices)
  expect(await act(list, "ctrl+r", sky, "Blue")).toBe("The title is now “Blue”.")
  expect(await act(list, "ctrl+r", sky, "x".repeat(500))).toMatch(/^Not renamed: the title has 500 characters/u)
  expect(list.actions?.find(({ chord }) => chord === "ctrl+d")?.appliesTo?.(first(choices))).toBe(false)

  const messages = await load(messageList({ app, session }))
  expect(messages.map(({ value, details }) => [value.text, value.turns, details?.[1]])).toEqual([
    ["sure?", 1, "the last"],
    ["colour of the sky?", 2, "2 messages back"],
  ])

  expect(await act(list, "ctrl+d", sky)).toBe(`Deleted ${session.id}.`)
  expect((await load(list)).map(({ value }) => value)).toEqual([other.id])

  expect(await load(agentList(app))).toEqual([])
})

describe("settings", () => {
  const opened = async (list: ReturnType<typeof settingsList>, key: string) =>
    await openList(list, { kind: "setting", key })

  test("are shown with value and help, without secrets and without those that have no effect", async () => {
    using context = createTestHomeContext({
      "config.yaml": "model:\n  api_key: sk-0123456789abcdef\nterminal:\n  timeout: 77\n",
    })
    const choices = await load(settingsList(context))
    const timeout = choices.find(({ label }) => label === "terminal.timeout")
    expect(timeout?.details?.[0]).toBe("77")
    expect(timeout?.details?.[1]).not.toBe("")
    expect(timeout?.description).toMatch(/\.$/u)
    expect(JSON.stringify(choices)).not.toContain("0123456789abcdef")
    expect(choices.some(({ label }) => label === "_config_version")).toBe(false)
  })

  test("are edited by type and checked as `hermes config set` does", async () => {
    using context = createTestHomeContext({ "config.yaml": "" })
    const file = () => readFileSync(context.home.file("config.yaml"), "utf8")
    const list = settingsList(context)
    const flag = await opened(list, "display.streaming")
    expect((await load(flag)).map(({ label, isCurrent }) => [label, isCurrent])).toEqual([
      ["true", true],
      ["false", false],
    ])
    expect(flag.freeEntry).toBeUndefined()
    expect(await choose(flag, { kind: "value", key: "display.streaming", text: "false" })).toEqual({
      kind: "back",
      note: "Set display.streaming.",
    })
    const number = await opened(list, "agent.max_turns")
    const typed = number.freeEntry?.("many") ?? { kind: "setting", key: "" }
    expect((await choose(number, typed)).kind).toBe("stay")
    expect((await choose(number, { kind: "value", key: "agent.max_turns", text: "12" })).kind).toBe("back")
    expect(file()).toMatch(/max_turns: 12/u)
    const words = await opened(list, "display.busy_input_mode")
    expect((await load(words)).map(({ label }) => label)).toEqual(["interrupt", "queue", "steer"])
    const [choice] = (await load(list)).filter(({ label }) => label === "agent.max_turns")
    if (choice === undefined) throw new Error("the setting is not listed")
    expect(await act(list, "ctrl+r", choice)).toBe("agent.max_turns has its default value again.")
    expect(file()).not.toMatch(/max_turns/u)
  })

  test("a change that removes protection is asked about again, and names what is lost", async () => {
    using context = createTestHomeContext({ "config.yaml": "terminal:\n  sandbox: required\n" })
    const file = (): string => readFileSync(context.home.file("config.yaml"), "utf8")
    const list = settingsList(context)
    const values = await opened(list, "terminal.sandbox")
    const question = await openList(values, { kind: "value", key: "terminal.sandbox", text: "off" })
    const { choices, note } = await question.load(signal)
    expect([choices.map(({ label }) => label), note]).toEqual([
      ["Keep terminal.sandbox as it is", "Set terminal.sandbox to off"],
      expect.stringContaining("Commands then run without the sandbox"),
    ])
    expect(await choose(question, { kind: "kept" })).toEqual({ kind: "back", note: "Not changed." })
    expect(file()).toContain("sandbox: required")
    const [sandbox] = (await load(list)).filter(({ label }) => label === "terminal.sandbox")
    const reset = list.actions?.find(({ chord }) => chord === "ctrl+r")
    expect(sandbox === undefined ? "" : reset?.confirm?.(sandbox)).toMatch(/^Commands then run without protection/u)
    expect((await choose(question, { kind: "confirmed", text: "off" })).kind).toBe("back")
    expect(file()).toContain("sandbox: false")
    expect((await choose(values, { kind: "value", key: "terminal.sandbox", text: "required" })).kind).toBe("back")
    expect(file()).toContain("sandbox: required")
  })

  test("a secret is typed unseen", async () => {
    using context = createTestHomeContext({ "config.yaml": "model:\n  api_key: sk-0123456789abcdef\n" })
    const secret = await opened(settingsList(context), "model.api_key")
    expect([secret.isSecret, await load(secret)]).toEqual([true, []])
  })

  test("a secret is stored in .env, and config.yaml refers to it", async () => {
    using context = createTestHomeContext({ "config.yaml": "model:\n  default: x\n" })
    const secret = await opened(settingsList(context), "model.api_key")
    const done = await choose(secret, { kind: "value", key: "model.api_key", text: "sk-planted-0123456789" })
    expect(done).toMatchObject({ kind: "back", note: expect.stringContaining("stored in .env as MODEL_API_KEY") })
    expect(readFileSync(context.home.file("config.yaml"), "utf8")).toContain("api_key: ${MODEL_API_KEY}")
    expect(readFileSync(context.home.file(".env"), "utf8")).toContain("MODEL_API_KEY=sk-planted-0123456789")
  })

  test("a usable text goes before the values that contain it; permission profiles are offered by name", async () => {
    using context = createTestHomeContext({
      "config.yaml": "agent:\n  max_turns: 50\napprovals:\n  profiles:\n    careful:\n      default: ask\n",
    })
    const list = settingsList(context)
    const number = await opened(list, "agent.max_turns")
    expect(["5", "x"].map((text) => number.prefersTyped?.(text))).toEqual([true, false])
    const profile = await opened(list, "approvals.profile")
    const labels = (await load(profile)).map(({ label }) => label)
    expect(labels).toEqual(["null", "plan", "default", "accept-edits", "auto", "full-auto", "careful"])
    expect(["fullauto", "careful"].map((text) => profile.prefersTyped?.(text))).toEqual([false, true])
    const refused = await choose(profile, { kind: "value", key: "approvals.profile", text: "fullauto" })
    expect(refused).toMatchObject({ kind: "stay", note: expect.stringContaining("did you mean full-auto?") })
  })
})

test("models: the providers with a key, then their models; the chosen mode is kept", async () => {
  using context = createTestHomeContext({}, { ANTHROPIC_API_KEY: "sk-ant-0123456789" })
  const list = modelList({
    context: { ...context, version: "0" },
    current: { provider: "custom", model: "local-model" },
  })
  const providers = await load(list)
  const ready = providers.filter(({ group }) => group === "Ready")
  expect(ready.map(({ value, isCurrent }) => [value, isCurrent])).toEqual([
    [{ kind: "provider", provider: "custom" }, true],
    [{ kind: "provider", provider: "anthropic" }, false],
  ])
  expect(list.freeEntry?.("gpt")).toEqual({ kind: "model", provider: undefined, model: "gpt" })
  const models = await openList(list, { kind: "provider", provider: "anthropic" }, LATER_SESSIONS)
  expect(models.modes?.[0]).toBe(LATER_SESSIONS)
  expect(models.freeEntry?.("x")).toEqual({ kind: "model", provider: "anthropic", model: "x" })
  expect(models.select).toBeUndefined()
})

test("models: a provider without a key is connected, with a key that it accepts", async () => {
  // A server of this machine needs no key, so both are reached through a proxy.
  await using refusing = await startModelServer([], {
    routes: { "GET /v1/models": { kind: "status", status: 401, body: {} } },
  })
  await using server = await startModelServer([], { models: ["alpha-1", "beta-2"] })
  const openedAt = async (proxy: string) => {
    const context = createTestHomeContext({}, { OPENAI_BASE_URL: "http://models.example/v1", HTTP_PROXY: proxy })
    const list = modelList({ context: { ...context, version: "0" }, current: undefined, keepsChoice: true })
    const choice = (await load(list)).find(({ keywords }) => keywords === "openai-api")
    if (choice === undefined) throw new Error("the provider is not listed")
    expect([choice.group, choice.details, list.modes?.[0]]).toEqual([
      "Not connected yet",
      ["needs a key"],
      LATER_SESSIONS,
    ])
    return { context, keys: await openList(list, choice.value, LATER_SESSIONS) }
  }
  const refused = await openedAt(refusing.url)
  using _refusedHome = refused.context
  expect([refused.keys.isSecret, refused.keys.title]).toEqual([true, "Key for OpenAI"])
  const note = (text: string) => choose(refused.keys, { kind: "key", key: text })
  expect(await note("sk-wrong")).toEqual({
    kind: "stay",
    note: "OpenAI refuses the key. Check the key and type it again.",
  })
  expect(await note("two words")).toMatchObject({ kind: "stay", note: expect.stringContaining("not a key") })
  const { context, keys } = await openedAt(server.url)
  using _home = context
  const models = await openList(keys, { kind: "key", key: " sk-good " }, LATER_SESSIONS)
  const secret = { variable: "OPENAI_API_KEY", key: "sk-good" }
  expect((await load(models)).map(({ value }) => value)).toEqual([
    { kind: "model", provider: "openai-api", model: "alpha-1", secret },
    { kind: "model", provider: "openai-api", model: "beta-2", secret },
  ])
  expect([models.modes?.[0], existsSync(context.home.file(".env"))]).toEqual([LATER_SESSIONS, false])
})

test("models: the address of a server, typed or asked for, opens its models", async () => {
  using context = createTestHomeContext({})
  await using server = await startModelServer([], { models: ["alpha-1", "beta-2"] })
  const list = modelList({ context: { ...context, version: "0" }, current: undefined })
  const typed = list.freeEntry?.(server.url)
  if (typed === undefined) throw new Error("the address is not accepted")
  const models = await openList(list, typed, LATER_SESSIONS)
  expect([models.title, models.modes?.[0]]).toEqual([`Models of ${server.url}/v1`, LATER_SESSIONS])
  const route = { baseUrl: `${server.url}/v1`, isLocal: true }
  expect((await load(models)).map(({ value }) => value)).toEqual([
    { kind: "model", provider: undefined, model: "alpha-1", server: route },
    { kind: "model", provider: undefined, model: "beta-2", server: route },
  ])
  const own = (await load(list)).find(({ keywords }) => keywords === "custom")
  if (own === undefined) throw new Error("the provider is not listed")
  const address = await openList(list, own.value, LATER_SESSIONS)
  const stays = async (text: string) => await choose(address, { kind: "address", address: text })
  expect([await stays("nowhere"), await stays("http://127.0.0.1:1")]).toMatchObject([
    { kind: "stay", note: '"nowhere" is not an address. It looks like http://localhost:11434/v1.' },
    { kind: "stay", note: "Nothing listens at http://127.0.0.1:1. Start the server, or correct the host and port." },
  ])
  expect((await openList(address, { kind: "address", address: server.url }, LATER_SESSIONS)).title).toBe(models.title)
})

test("rollback: snapshots with their diff, then all files or one", async () => {
  const snapshot = {
    hash: "a".repeat(40),
    short: "aaaaaaaa",
    time: 0,
    reason: "terminal make",
    filesChanged: 1,
    insertions: 2,
    deletions: 1,
    precedes: [],
  }
  const checkpoints = {
    root: () => "/w",
    list: () => Promise.resolve([snapshot]),
    diff: (_hash: string, { file }: { readonly file?: string }) =>
      Promise.resolve(
        file === "bad"
          ? fail("it is gone")
          : ok({ text: `+${file ?? "all"}`, truncated: false, files: ["x", "y"], added: ["y"] }),
      ),
  }
  const list = rollbackList(checkpoints, { clock: manualClock(0) })
  const choice = first(await load(list))
  expect([choice.label, choice.details]).toEqual(["terminal make", ["just now", "aaaaaaaa"]])
  expect(await list.preview?.(choice, signal)).toEqual({ kind: "diff", text: "+all" })
  const files = await openList(list, choice.value)
  expect((await load(files)).map(({ label, value, details }) => [label, value.file, details])).toEqual([
    ["Restore everything (2 files)", undefined, undefined],
    ["x", "x", ["is restored"]],
    ["y", "y", ["is removed"]],
  ])
  const bad = { value: { hash: "a", file: "bad" }, label: "" }
  expect((await files.preview?.(bad, signal))?.text).toBe("The changes cannot be shown: it is gone.")
})

test("sub-agents and processes: stopped, steered and paused", async () => {
  const calls: unknown[] = []
  const node = {
    id: "sa-0-1",
    parentId: null,
    depth: 1,
    goal: "count",
    role: "leaf",
    model: "m",
    toolsets: ["file"],
    status: "running",
    startedAt: 0,
    toolCount: 2,
    lastTool: "read_file",
    tokens: { input: 1000, output: 0 },
    files: [],
    children: [],
  }
  const process = {
    id: "proc_1",
    command: "npm run dev",
    pid: 7,
    uptimeMs: 61_000,
    state: { status: "running" },
    output: "ready\n",
  }
  const subAgents = {
    isPaused: false,
    tree: () => [node],
    stop: (id: string) => calls.push(["stop", id]) > 0,
    steer: (id: string, text: string) => calls.push(["steer", id, text]) > 0,
    setPaused: (paused: boolean) => {
      subAgents.isPaused = paused
    },
  }
  const registry = {
    list: () => [process],
    peek: () => process,
    kill: (id: string) => {
      calls.push(["kill", id])
      return Promise.resolve("killed")
    },
  }
  const backgroundTasks = {
    list: () => [{ number: 3, prompt: "tidy", startedAt: 0, tokens: { input: 0, output: 10 }, hasQuestion: true }],
    stop: (number: number) => calls.push(["stop task", number]) > 0,
    steer: (number: number, text: string) => calls.push(["steer task", number, text]) > 0,
  }
  const app = {
    backgroundTasks,
    subAgents,
    processes: { open: () => Promise.resolve(registry) },
    clock: manualClock(5000),
  }
  const list = agentList(app as unknown as Parameters<typeof agentList>[0])
  const [task, agent, running] = await load(list)
  if (task === undefined || agent === undefined || running === undefined) throw new Error("expected three entries")
  expect(task.details).toEqual(["5s", "waits for your answer", "10 tokens"])
  await act(list, "ctrl+d", task)
  await act(list, "ctrl+s", task, "faster")
  expect(calls.splice(0)).toEqual([
    ["stop task", 3],
    ["steer task", 3, "faster"],
  ])
  expect([agent.details, running.details]).toEqual([
    ["5s", "read_file", "1K tokens"],
    ["1m", "process 7"],
  ])
  expect((await list.preview?.(running, signal))?.text).toBe("ready")
  await act(list, "ctrl+d", agent)
  await act(list, "ctrl+d", running)
  await act(list, "ctrl+s", agent, "faster")
  expect(await act(list, "ctrl+t", agent)).toMatch(/^No sub-agent is started/u)
  expect((await list.load(signal)).note).toBe("Starting sub-agents is paused.")
  expect(calls).toEqual([
    ["stop", "sa-0-1"],
    ["kill", "proc_1"],
    ["steer", "sa-0-1", "faster"],
  ])
  expect(list.actions?.map(({ appliesTo }) => appliesTo?.(running) ?? true)).toEqual([true, false, true])
})

test("lists of names mark the current one; a skin is shown while it is highlighted", async () => {
  const shown: (string | undefined)[] = []
  const skins = skinList({
    skins: [
      { name: "default", description: "gold" },
      { name: "mono", description: "grey" },
    ],
    current: "mono",
    show: (name) => shown.push(name),
  })
  const choices = await load(skins)
  expect(choices.map(({ label, isCurrent }) => [label, isCurrent])).toEqual([
    ["default", false],
    ["mono", true],
  ])
  skins.onHighlight?.(first(choices))
  skins.onHighlight?.(undefined)
  expect(shown).toEqual(["default", undefined])
  const profiles = await load(permissionList({ profiles: ["plan", "mine"], current: "plan" }))
  expect(profiles.map(({ description }) => description)).toEqual([
    "reads only, and ends with a plan for you to approve",
    "one of your own",
  ])
  const personalities = await load(
    personalityList({ personalities: [{ name: "noir", description: "dark" }], current: undefined }),
  )
  expect(personalities.map(({ label, isCurrent }) => [label, isCurrent])).toEqual([
    ["none", true],
    ["noir", false],
  ])
})

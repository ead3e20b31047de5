import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

import { expect, test, vi } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { systemClock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { createLocalWorkspace } from "../local/local-workspace.ts"
import { createLanguageDiagnostics } from "./language-diagnostics.ts"
import type { LanguageDiagnosticsOptions } from "./language-diagnostics.ts"

const FIXTURE = new URL("../../../test/fixtures/exec/language-server.ts", import.meta.url).pathname
const never = new AbortController().signal

interface Bench extends AsyncDisposable {
  readonly root: string
  readonly record: () => readonly (readonly [what: string, value: unknown])[]
  readonly broken: () => string
  readonly started: () => number
  /** Writes files, null removes one; gives `path line:column message` of each new error. */
  edit(files: Readonly<Record<string, string | null>>, signal?: AbortSignal): Promise<readonly string[]>
}

type BenchOptions = Partial<LanguageDiagnosticsOptions["settings"]> & {
  readonly limits?: LanguageDiagnosticsOptions["limits"]
  readonly recorded?: boolean
  readonly hasWalls?: () => Promise<boolean>
  readonly server?: Readonly<Record<string, unknown>>
}

/** A project whose `.fix` files have a server that behaves as the words say. */
async function bench(words: string, options: BenchOptions = {}): Promise<Bench> {
  const home = await temporaryHome()
  const { limits, recorded = false, server = {}, hasWalls = () => Promise.resolve(false), ...settings } = options
  const root = home.workdir
  mkdirSync(join(root, ".git"))
  const recordFile = join(home.userHome, "record")
  const command = [process.execPath, FIXTURE, ...words.split(" ").filter((word) => word !== "")]
  if (recorded) command.push("--record", recordFile)
  const workspace = createLocalWorkspace({
    cwd: root,
    userHome: home.userHome,
    environment: home.env,
    startupFiles: [],
  })
  let started = 0
  const diagnostics = createLanguageDiagnostics({
    settings: {
      waitMode: "document",
      waitTimeout: 20,
      servers: { fixture: { command, extensions: [".fix"], ...server } },
      ...settings,
    },
    start: (line, how) => {
      started += 1
      return workspace.start(line, how)
    },
    hasWalls,
    home: home.path,
    userHome: home.userHome,
    path: home.env["PATH"] ?? "",
    version: "0.0.0-test",
    clock: systemClock,
    log: createLogger({ sinks: [], redact: (text) => text }),
    ...(limits === undefined ? {} : { limits }),
  })
  const brokenFile = join(home.path, "lsp", "broken.json")
  return {
    root,
    started: () => started,
    broken: () => (existsSync(brokenFile) ? readFileSync(brokenFile, "utf8") : ""),
    record: () =>
      existsSync(recordFile)
        ? readFileSync(recordFile, "utf8")
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line) as [string, unknown])
        : [],
    edit: async (files, signal = never) => {
      const paths = Object.keys(files).map((name) => join(root, name))
      const pending = await diagnostics.before(paths, signal)
      for (const [name, text] of Object.entries(files)) {
        if (text === null) rmSync(join(root, name))
        else writeFileSync(join(root, name), text)
      }
      const found = (await pending?.after(paths, signal)) ?? []
      return found.flatMap(({ path, errors }) =>
        errors.map(({ line, column, message }) => `${path.slice(root.length + 1)} ${line}:${column} ${message}`),
      )
    },
    [Symbol.asyncDispose]: async () => {
      await diagnostics.close()
      await workspace.close()
      await home[Symbol.asyncDispose]()
    },
  }
}

const told = (place: string, word = "BAD"): string => `${place} ${word} is not allowed`

test.each([
  ["publishes with versions", ""],
  ["publishes without versions", "--versions none"],
  ["publishes late", "--delay 60"],
  ["is asked", "--pull"],
  ["is asked and refuses twice", "--pull --refuse 2"],
  ["counts in bytes", "--pull --encoding utf-8"],
])("a server that %s: only what an edit brought is told, wherever older errors have moved", async (_name, words) => {
  await using place = await bench(words)
  expect(await place.edit({ "a.fix": "one\nBAD\nWARN\n" })).toEqual([told("a.fix 2:1")])
  expect(await place.edit({ "a.fix": "one\nnew\nnew\nBAD\nWARN\n" })).toEqual([])
  expect(await place.edit({ "a.fix": "one\né BAD2\nBAD\nWARN\n" })).toEqual([told("a.fix 2:3", "BAD2")])
  expect(await place.edit({ "a.fix": "one\n" })).toEqual([])
  expect(place.started()).toBe(1)
})

test("a server that is still loading a project does not make an edit look guilty", async () => {
  await using place = await bench("--pull --loading 400")
  writeFileSync(join(place.root, "a.fix"), "BAD1\nBAD2\n")
  expect(await place.edit({ "a.fix": "first\nBAD1\nBAD2\nBAD3\n" })).toEqual([told("a.fix 4:1", "BAD3")])
})

test("several files at once, new and removed ones among them, and what somebody else changed", async () => {
  await using place = await bench("--pull")
  await place.edit({ "a.fix": "BAD\n", "b.fix": "fine\n", "gone.fix": "BAD\n" })
  writeFileSync(join(place.root, "b.fix"), "BAD by somebody else\n")
  expect(
    await place.edit({
      "a.fix": "\nBAD\n",
      "b.fix": "BAD by somebody else\nBAD2\n",
      "gone.fix": null,
      "c.fix": "BAD3",
    }),
  ).toEqual([told("b.fix 2:1", "BAD2"), told("c.fix 1:1", "BAD3")])
})

test("a server that never says anything holds an edit up no longer than the settings say, and is not called broken", async () => {
  await using place = await bench("--mute diagnostics", { waitTimeout: 0.3 })
  expect(await place.edit({ "a.fix": "BAD\n" })).toEqual([])
  expect(await place.edit({ "a.fix": "BAD2\n" })).toEqual([])
  expect([place.broken(), place.started()]).toEqual(["", 1])
})

test("one that still starts is not waited for to the end, and a later edit profits", async () => {
  await using place = await bench("--slow 600", { waitTimeout: 0.3 })
  expect(await place.edit({ "first.fix": "BAD\n" })).toEqual([])
  let count = 0
  await vi.waitFor(async () => {
    const name = `later-${(count += 1)}.fix`
    expect(await place.edit({ [name]: "BAD\n" })).toEqual([told(`${name} 1:1`)])
  })
  expect([place.broken(), place.started()]).toEqual(["", 1])
})

test("an abort ends the wait at once", async () => {
  await using place = await bench("--mute initialize")
  const abort = new AbortController()
  const edit = place.edit({ "a.fix": "BAD\n" }, abort.signal)
  abort.abort()
  expect(await edit).toEqual([])
})

test.each([
  ["ends at its start", "--crash initialize", "it ended with code 3: fixture error: it cannot start"],
  ["never answers", "--mute initialize", "it did not answer within 0 seconds"],
])("a server that %s is left alone, and the reason is kept", async (_name, words, reason) => {
  await using place = await bench(words, { limits: { startMs: words.includes("mute") ? 200 : 20_000 } })
  expect(await place.edit({ "a.fix": "BAD\n" })).toEqual([])
  await vi.waitFor(() => {
    expect(place.broken()).toContain(reason)
  })
  expect(await place.edit({ "a.fix": "BAD2\n" })).toEqual([])
  expect(place.started()).toBe(1)
})

test("one that ends in the middle of an edit spoils nothing and is left alone", async () => {
  await using place = await bench("--crash change")
  expect(await place.edit({ "a.fix": "BAD\n" })).toEqual([told("a.fix 1:1")])
  expect(await place.edit({ "a.fix": "BAD2\n" })).toEqual([])
  await vi.waitFor(() => {
    expect(place.broken()).toContain("it ended with code 4")
  })
  rmSync(join(place.root, "..", "user", ".hermes", "lsp", "broken.json"))
  expect(await place.edit({ "b.fix": "BAD3\n" })).toEqual([told("b.fix 1:1", "BAD3")])
  expect(place.started()).toBe(2)
})

test("versions that do not fit are not believed", async () => {
  await using place = await bench("--versions lie", { waitTimeout: 1 })
  await place.edit({ "a.fix": "fine\n" })
  expect(await place.edit({ "a.fix": "BAD\n" })).toEqual([])
})

test.each([
  ["full", [told("user.fix 1:1", "USES")]],
  ["document", []],
] as const)("mode %s and what an edit does to another open file", async (waitMode, fresh) => {
  await using place = await bench("--pull", { waitMode })
  await place.edit({ "other.fix": "DEFINES\n", "user.fix": "USES\nBAD\n" })
  expect(await place.edit({ "other.fix": "nothing\n" })).toEqual(fresh)
})

test("an idle server is ended, and started again when it is needed", async () => {
  await using place = await bench("", { limits: { idleMs: 50 } })
  await place.edit({ "a.fix": "BAD\n" })
  await vi.waitFor(async () => {
    await place.edit({ "a.fix": "BAD\n" })
    expect(place.started()).toBeGreaterThan(1)
  })
  expect(place.broken()).toBe("")
})

test("files without a server, outside a work tree, or of a server that needs walls start nothing", async () => {
  await using place = await bench("")
  expect(await place.edit({ "a.txt": "BAD\n" })).toEqual([])
  await using outside = await bench("")
  rmSync(join(outside.root, ".git"), { recursive: true })
  expect(await outside.edit({ "a.fix": "BAD\n" })).toEqual([])
  const command = [process.execPath, FIXTURE]
  await using unwalled = await bench("", { servers: { "rust-analyzer": { command } } })
  expect(await unwalled.edit({ "a.rs": "BAD\n" })).toEqual([])
  await using trusted = await bench("", { servers: { "rust-analyzer": { command, trusted: true } } })
  expect(await trusted.edit({ "a.rs": "BAD\n" })).toEqual([told("a.rs 1:1")])
  expect([place.started(), outside.started(), unwalled.started(), trusted.started()]).toEqual([0, 0, 0, 1])
})

test("what goes wrong on our side is no failure of the write either", async () => {
  const hasWalls = (): Promise<boolean> => Promise.reject(new Error("the probe broke"))
  const command = [process.execPath, FIXTURE]
  await using place = await bench("", { hasWalls, servers: { "rust-analyzer": { command } } })
  expect(await place.edit({ "a.rs": "BAD\n" })).toEqual([])
  expect(place.started()).toBe(0)
})

test("what a server asks is answered, and it hears of saves and of changes on the disk", async () => {
  await using place = await bench("--pull", {
    recorded: true,
    server: { settings: { fixture: { deep: { on: true } } }, initialization_options: { hello: 1 } },
  })
  await place.edit({ "a.fix": "fine\n" })
  await vi.waitFor(() => {
    expect(place.record().map(([what]) => what)).toContain("fixture/unknown")
  })
  await place.edit({ "b.fix": "fine\n" })
  writeFileSync(join(place.root, "from-a-command.txt"), "")
  const uri = (name: string): string => pathToFileURL(join(place.root, name)).href
  await vi.waitFor(async () => {
    await place.edit({ "a.fix": "fine again\n" })
    expect(JSON.stringify(place.record())).toContain(uri("from-a-command.txt"))
  })
  const answers = Object.fromEntries(place.record().filter(([what]) => what.includes("/")))
  expect(answers).toEqual({
    "workspace/configuration": [{ on: true }, null],
    "client/registerCapability": null,
    "window/workDoneProgress/create": null,
    "workspace/workspaceFolders": [{ uri: pathToFileURL(place.root).href, name: "work" }],
    "workspace/diagnostic/refresh": null,
    "fixture/unknown": { failed: expect.stringContaining("fixture/unknown is not supported") },
  })
  const heard = place.record()
  expect(heard.find(([what]) => what === "initialize")).toEqual([
    "initialize",
    expect.objectContaining({
      processId: null,
      rootUri: pathToFileURL(place.root).href,
      initializationOptions: { hello: 1 },
      clientInfo: { name: "hermes", version: "0.0.0-test" },
    }),
  ])
  expect(heard).toContainEqual(["didSave", uri("a.fix")])
  expect(heard).toContainEqual(["diagnostic", "own"])
  expect(heard).toContainEqual([
    "didChangeWatchedFiles",
    { changes: expect.arrayContaining([{ uri: uri("b.fix"), type: 1 }]) as unknown },
  ])
})

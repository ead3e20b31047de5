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

interface TestSetup extends AsyncDisposable {
  readonly root: string
  readonly record: () => readonly (readonly [what: string, value: unknown])[]
  readonly broken: () => string
  readonly started: () => number
  /** Writes files, or removes those with null; returns `path line:column message` of each new error. */
  edit(files: Readonly<Record<string, string | null>>, signal?: AbortSignal): Promise<readonly string[]>
}

type SetupOptions = Partial<LanguageDiagnosticsOptions["settings"]> & {
  readonly limits?: LanguageDiagnosticsOptions["limits"]
  readonly recorded?: boolean
  readonly hasSandbox?: () => Promise<boolean>
  readonly server?: Readonly<Record<string, unknown>>
}

/** Opens a project whose `.fix` files have a test server that is started with the given flags. */
async function openProject(flags: string, options: SetupOptions = {}): Promise<TestSetup> {
  const home = await temporaryHome()
  const { limits, recorded = false, server = {}, hasSandbox = () => Promise.resolve(false), ...settings } = options
  const root = home.workdir
  mkdirSync(join(root, ".git"))
  const recordFile = join(home.userHome, "record")
  const command = [process.execPath, FIXTURE, ...flags.split(" ").filter((word) => word !== "")]
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
    hasSandbox,
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

const notAllowed = (position: string, word = "BAD"): string => `${position} ${word} is not allowed`

test.each([
  ["publishes with versions", ""],
  ["publishes without versions", "--versions none"],
  ["publishes late", "--delay 60"],
  ["responds to diagnostic requests", "--pull"],
  ["asks twice to repeat the request", "--pull --refuse 2"],
  ["counts columns in bytes", "--pull --encoding utf-8"],
])(
  "with a server that %s, only errors introduced by an edit are reported, even if older ones move",
  async (_name, flags) => {
    await using project = await openProject(flags)
    expect(await project.edit({ "a.fix": "one\nBAD\nWARN\n" })).toEqual([notAllowed("a.fix 2:1")])
    expect(await project.edit({ "a.fix": "one\nnew\nnew\nBAD\nWARN\n" })).toEqual([])
    expect(await project.edit({ "a.fix": "one\né BAD2\nBAD\nWARN\n" })).toEqual([notAllowed("a.fix 2:3", "BAD2")])
    expect(await project.edit({ "a.fix": "one\n" })).toEqual([])
    expect(project.started()).toBe(1)
  },
)

test("errors that a server finds while loading a project are not attributed to the edit", async () => {
  await using project = await openProject("--pull --loading 400")
  writeFileSync(join(project.root, "a.fix"), "BAD1\nBAD2\n")
  expect(await project.edit({ "a.fix": "first\nBAD1\nBAD2\nBAD3\n" })).toEqual([notAllowed("a.fix 4:1", "BAD3")])
})

test("one edit can change, create and remove several files, and external changes are not attributed to it", async () => {
  await using project = await openProject("--pull")
  await project.edit({ "a.fix": "BAD\n", "b.fix": "fine\n", "gone.fix": "BAD\n" })
  writeFileSync(join(project.root, "b.fix"), "BAD external\n")
  expect(
    await project.edit({
      "a.fix": "\nBAD\n",
      "b.fix": "BAD external\nBAD2\n",
      "gone.fix": null,
      "c.fix": "BAD3",
    }),
  ).toEqual([notAllowed("b.fix 2:1", "BAD2"), notAllowed("c.fix 1:1", "BAD3")])
})

test("a server that never sends diagnostics delays an edit only up to the timeout and is not marked as broken", async () => {
  await using project = await openProject("--mute diagnostics", { waitTimeout: 0.3 })
  expect(await project.edit({ "a.fix": "BAD\n" })).toEqual([])
  expect(await project.edit({ "a.fix": "BAD2\n" })).toEqual([])
  expect([project.broken(), project.started()]).toEqual(["", 1])
})

test("an edit does not wait for a slow start beyond the timeout, and later edits use the server", async () => {
  await using project = await openProject("--slow 600", { waitTimeout: 0.3 })
  expect(await project.edit({ "first.fix": "BAD\n" })).toEqual([])
  let count = 0
  await vi.waitFor(async () => {
    const name = `later-${(count += 1)}.fix`
    expect(await project.edit({ [name]: "BAD\n" })).toEqual([notAllowed(`${name} 1:1`)])
  })
  expect([project.broken(), project.started()]).toEqual(["", 1])
})

test("an abort ends the wait immediately", async () => {
  await using project = await openProject("--mute initialize")
  const abort = new AbortController()
  const edit = project.edit({ "a.fix": "BAD\n" }, abort.signal)
  abort.abort()
  expect(await edit).toEqual([])
})

test.each([
  ["crashes at its start", "--crash initialize", "it exited with code 3: fixture error: it cannot start"],
  ["never responds", "--mute initialize", "it did not respond within 0 seconds"],
])("a server that %s is not started again, and the reason is recorded", async (_name, flags, reason) => {
  await using project = await openProject(flags, { limits: { startMs: flags.includes("mute") ? 200 : 20_000 } })
  expect(await project.edit({ "a.fix": "BAD\n" })).toEqual([])
  await vi.waitFor(() => {
    expect(project.broken()).toContain(reason)
  })
  expect(await project.edit({ "a.fix": "BAD2\n" })).toEqual([])
  expect(project.started()).toBe(1)
})

test("a server that crashes during an edit does not fail it and is not started again", async () => {
  await using project = await openProject("--crash change")
  expect(await project.edit({ "a.fix": "BAD\n" })).toEqual([notAllowed("a.fix 1:1")])
  expect(await project.edit({ "a.fix": "BAD2\n" })).toEqual([])
  await vi.waitFor(() => {
    expect(project.broken()).toContain("it exited with code 4")
  })
  rmSync(join(project.root, "..", "user", ".hermes", "lsp", "broken.json"))
  expect(await project.edit({ "b.fix": "BAD3\n" })).toEqual([notAllowed("b.fix 1:1", "BAD3")])
  expect(project.started()).toBe(2)
})

test("publications for another document version are ignored", async () => {
  await using project = await openProject("--versions lie", { waitTimeout: 1 })
  await project.edit({ "a.fix": "fine\n" })
  expect(await project.edit({ "a.fix": "BAD\n" })).toEqual([])
})

test.each([
  ["full", [notAllowed("user.fix 1:1", "USES")]],
  ["document", []],
] as const)("mode %s: errors that an edit causes in another open file", async (waitMode, expected) => {
  await using project = await openProject("--pull", { waitMode })
  await project.edit({ "other.fix": "DEFINES\n", "user.fix": "USES\nBAD\n" })
  expect(await project.edit({ "other.fix": "nothing\n" })).toEqual(expected)
})

test("an idle server is stopped and started again when needed", async () => {
  await using project = await openProject("", { limits: { idleMs: 50 } })
  await project.edit({ "a.fix": "BAD\n" })
  await vi.waitFor(async () => {
    await project.edit({ "a.fix": "BAD\n" })
    expect(project.started()).toBeGreaterThan(1)
  })
  expect(project.broken()).toBe("")
})

test("no server starts for unknown files, outside a work tree, or without the sandbox it needs", async () => {
  await using project = await openProject("")
  expect(await project.edit({ "a.txt": "BAD\n" })).toEqual([])
  await using outside = await openProject("")
  rmSync(join(outside.root, ".git"), { recursive: true })
  expect(await outside.edit({ "a.fix": "BAD\n" })).toEqual([])
  const command = [process.execPath, FIXTURE]
  await using unsandboxed = await openProject("", { servers: { "rust-analyzer": { command } } })
  expect(await unsandboxed.edit({ "a.rs": "BAD\n" })).toEqual([])
  await using trusted = await openProject("", { servers: { "rust-analyzer": { command, trusted: true } } })
  expect(await trusted.edit({ "a.rs": "BAD\n" })).toEqual([notAllowed("a.rs 1:1")])
  expect([project.started(), outside.started(), unsandboxed.started(), trusted.started()]).toEqual([0, 0, 0, 1])
})

test("an internal error does not fail the edit", async () => {
  const hasSandbox = (): Promise<boolean> => Promise.reject(new Error("the probe broke"))
  const command = [process.execPath, FIXTURE]
  await using project = await openProject("", { hasSandbox, servers: { "rust-analyzer": { command } } })
  expect(await project.edit({ "a.rs": "BAD\n" })).toEqual([])
  expect(project.started()).toBe(0)
})

test("the client responds to the server's requests and sends notifications of saves and file changes", async () => {
  await using project = await openProject("--pull", {
    recorded: true,
    server: { settings: { fixture: { deep: { on: true } } }, initialization_options: { hello: 1 } },
  })
  await project.edit({ "a.fix": "fine\n" })
  await vi.waitFor(() => {
    expect(project.record().map(([what]) => what)).toContain("fixture/unknown")
  })
  await project.edit({ "b.fix": "fine\n" })
  writeFileSync(join(project.root, "from-a-command.txt"), "")
  const uri = (name: string): string => pathToFileURL(join(project.root, name)).href
  await vi.waitFor(async () => {
    await project.edit({ "a.fix": "fine again\n" })
    expect(JSON.stringify(project.record())).toContain(uri("from-a-command.txt"))
  })
  const responses = Object.fromEntries(project.record().filter(([what]) => what.includes("/")))
  expect(responses).toEqual({
    "workspace/configuration": [{ on: true }, null],
    "client/registerCapability": null,
    "window/workDoneProgress/create": null,
    "workspace/workspaceFolders": [{ uri: pathToFileURL(project.root).href, name: "work" }],
    "workspace/diagnostic/refresh": null,
    "fixture/unknown": { failed: expect.stringContaining("fixture/unknown is not supported") },
  })
  const received = project.record()
  expect(received.find(([what]) => what === "initialize")).toEqual([
    "initialize",
    expect.objectContaining({
      processId: null,
      rootUri: pathToFileURL(project.root).href,
      initializationOptions: { hello: 1 },
      clientInfo: { name: "hermes", version: "0.0.0-test" },
    }),
  ])
  expect(received).toContainEqual(["didSave", uri("a.fix")])
  expect(received).toContainEqual(["diagnostic", "own"])
  expect(received).toContainEqual([
    "didChangeWatchedFiles",
    { changes: expect.arrayContaining([{ uri: uri("b.fix"), type: 1 }]) as unknown },
  ])
})

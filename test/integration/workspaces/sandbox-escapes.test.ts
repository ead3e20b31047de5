import { readdirSync } from "node:fs"
import { mkdir, readFile, rm, rmdir, symlink, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { basename, dirname, join } from "node:path"
import { afterEach, describe, expect, test, vi } from "vitest"

import { openWorkspace } from "../../../src/app/session/session-workspace.ts"
import { systemClock } from "../../../src/base/clock.ts"
import { createLogger } from "../../../src/base/logger.ts"
import { environmentFrom } from "../../../src/config/environment.ts"
import { resolveHome } from "../../../src/config/home.ts"
import { loadConfig } from "../../../src/config/load-config.ts"
import type { Workspace } from "../../../src/exec/workspace.ts"
import { findBubblewrap } from "../../support/bubblewrap.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { TemporaryHome } from "../../support/temporary-home.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

afterEach(() => {
  vi.unstubAllEnvs()
})

/** Opens a workspace as a session does, with its own TMPDIR: the test's own files are in the TMPDIR of this process. */
async function openIn(home: TemporaryHome, cwd: string, variables: Readonly<Record<string, string>> = {}) {
  vi.stubEnv("TMPDIR", home.env["TMPDIR"])
  const environment = environmentFrom({ ...home.env, ...variables })
  const resolved = resolveHome(environment)
  const opened = await openWorkspace(
    { cwd, signal: new AbortController().signal },
    {
      config: await loadConfig({ home: resolved, environment }),
      environment,
      home: resolved,
      clock: systemClock,
      log: createLogger({ sinks: [], redact: (text) => text }),
    },
  )
  if (!opened.ok) throw new Error(opened.error)
  const workspace = opened.value
  return { workspace, [Symbol.asyncDispose]: () => workspace.close() }
}

async function outputOf(workspace: Workspace, command: string): Promise<string> {
  const limits = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 20_000, keepState: true }
  return (await workspace.run(command, limits).exit).output
}

test("a file tool does not follow a link that was created after the permission check", async () => {
  await using home = await temporaryHome({
    files: { ".env": "KEY=1", "config.yaml": "a: 1\n" },
    workFiles: { ".env": "MINE=1" },
  })
  await using session = await openIn(home, home.workdir)
  const { files } = session.workspace
  for (const [name, target] of Object.entries({
    environ: "/proc/self/environ",
    dotenv: join(home.path, ".env"),
    settings: join(home.path, "config.yaml"),
  })) {
    await symlink(target, join(home.workdir, name))
  }
  await expect(files.read("environ")).rejects.toThrow("belongs to a process")
  await expect(files.readRange?.("dotenv", { start: 0, length: 3 })).rejects.toThrow("not read by file tools")
  await expect(files.write("settings", "b: 2\n")).rejects.toThrow("hermes config")
  expect(await readFile(join(home.path, "config.yaml"), "utf8")).toBe("a: 1\n")
  await expect(files.read(".env")).rejects.toThrow("holds secrets")
})

describe.skipIf(missing !== undefined)(titleWithReason("sandbox escapes", missing), () => {
  test("the parent of a hidden path cannot be renamed to uncover it", async () => {
    await using home = await temporaryHome()
    await mkdir(join(home.userHome, ".config/gh"), { recursive: true })
    await writeFile(join(home.userHome, ".config/gh/hosts.yml"), "the token")
    await using session = await openIn(home, home.userHome)
    expect(await outputOf(session.workspace, "mv ~/.config ~/moved; echo x > ~/.config/other")).toContain("busy")
    const read = await outputOf(session.workspace, "cat ~/*/gh/* ~/.config/gh/*; cat ~/.config/other")
    expect(read.match(/No such file/gu)).toHaveLength(3)
  })

  test("a link that replaces a writable directory does not make its target writable", async () => {
    await using home = await temporaryHome()
    await mkdir(join(home.userHome, ".npm"))
    const outside = join(home.workdir, "outside")
    await mkdir(outside)
    await using session = await openIn(home, home.userHome)
    await outputOf(session.workspace, "true")
    const prepare = `ln -s ${outside} ~/.nuget; mkdir -p ~/.m2 && ln -s ${outside} ~/.m2/repository; ls -A ~`
    expect(await outputOf(session.workspace, prepare)).toContain(".nuget")
    await mkdir(join(outside, "packages"))
    const write = `echo x > ${outside}/planted; echo x > ${outside}/packages/planted`
    expect((await outputOf(session.workspace, write)).match(/Read-only file system/gu)).toHaveLength(2)
  })

  test("settings, copies of secret files and earlier conversations are hidden", async () => {
    const secrets = Object.fromEntries(
      [
        "cache/config.parsed.json",
        "config.yaml.bak.20260101",
        "auth.json.corrupt",
        ".auth.json.12.ab.tmp",
        "state.db.damaged",
        "sessions/request_dump_1.json",
        "auth/google_oauth.json",
      ].map((name) => [name, "canary"]),
    )
    await using home = await temporaryHome({ files: { ...secrets, "cache/documents/a.txt": "an attachment" } })
    await using session = await openIn(home, home.workdir)
    expect(
      await outputOf(session.workspace, `grep -rs canary ${home.path}; cat ${home.path}/cache/documents/a.txt`),
    ).toBe("an attachment")
  })

  test("sockets named in the environment are unreachable", async () => {
    await using home = await temporaryHome()
    const path = join(home.env["TMPDIR"] ?? "", "agent/socket")
    await mkdir(join(path, ".."))
    const server = createServer().listen(path)
    await new Promise((resolve) => {
      server.once("listening", resolve)
    })
    await using session = await openIn(home, home.workdir, { NVIM: path })
    const probe = `[ -S ${path} ] && echo reachable; mv ${join(path, "..")} ${join(path, "../../moved")}; ls -A ${home.env["TMPDIR"] ?? ""}`
    const output = await outputOf(session.workspace, probe)
    server.close()
    expect(output).not.toContain("reachable")
    expect(output).not.toContain("moved\n")
  })

  test("a socket in terminal.sandbox_sockets can be used under each of its names, and those of other programs cannot", async () => {
    await using home = await temporaryHome()
    const services = join(home.userHome, "services")
    await mkdir(services)
    await symlink(services, join(home.userHome, "link"))
    const paths = [
      join(services, "allowed.sock"),
      join(services, "other with space.sock"),
      join(home.env["TMPDIR"] ?? "", "editor.sock"),
      join(home.workdir, "project.sock"),
    ]
    const servers = paths.map((path) => createServer((client) => client.end("reached")).listen(path))
    await vi.waitUntil(() => servers.every(({ listening }) => listening))
    await writeFile(
      join(home.path, "config.yaml"),
      `terminal: {sandbox: required, sandbox_sockets: [~/link/allowed.sock, ~/link/later.sock]}\n`,
    )
    // Hidden under its own name because the environment names it.
    await using session = await openIn(home, home.workdir, { NVIM: join(services, "allowed.sock") })
    const probe = `import("node:net").then(({ connect }) => { for (const path of process.argv.slice(1)) {
      const say = (what) => console.log(path.split("/").at(-1), String(what))
      connect(path).on("data", say).on("error", (error) => say(error.code)) } })`
    const reach = (...names: readonly string[]) =>
      outputOf(session.workspace, `node -e '${probe}' ${names.map((name) => `'${name}'`).join(" ")}`)
    const lines = (await reach(...paths)).trim().split("\n").toSorted()
    const later = join(services, "later.sock")
    const started = createServer((client) => client.end("reached")).listen(later)
    await vi.waitUntil(() => started.listening)
    const again = await reach(later)
    for (const server of [...servers, started]) server.close()
    expect(lines).toEqual([
      "allowed.sock reached",
      "editor.sock ECONNREFUSED",
      "other with space.sock ECONNREFUSED",
      "project.sock reached",
    ])
    expect(again).toBe("later.sock reached\n")
  })

  test("a command finds no state of another session, and replacing its own state with pipes blocks nothing", async () => {
    await using home = await temporaryHome()
    await using one = await openIn(home, home.workdir)
    await using other = await openIn(home, home.workdir)
    await outputOf(other.workspace, "secret_of_other=1")
    const find = 'find /dev/shm /tmp "$TMPDIR" -maxdepth 1 -name "hermes-shell-*" -writable 2>/dev/null'
    const own = (await outputOf(one.workspace, find)).trim()
    expect(own.split("\n")).toHaveLength(1)
    const plant = `for n in 0 1 2 3; do rm -f ${own}/state-$n.cwd; mkfifo ${own}/state-$n.cwd; done; kill -9 $$`
    await outputOf(one.workspace, plant)
    expect(await outputOf(one.workspace, `rm -f ${own}/*.cwd; echo continues`)).toContain("continues")
  }, 30_000)

  test("code that Hermes runs is read-only, even in a custom cache directory", async () => {
    await using home = await temporaryHome()
    const cache = join(home.workdir, "compiled")
    await mkdir(join(cache, "hermes"), { recursive: true })
    await writeFile(join(cache, "hermes/chunk"), "good")
    await using session = await openIn(home, home.workdir, { NODE_COMPILE_CACHE: cache })
    await outputOf(session.workspace, `echo bad > ${cache}/hermes/chunk; mv ${cache} ${home.workdir}/other`)
    expect([await readFile(join(cache, "hermes/chunk"), "utf8"), readdirSync(home.workdir)]).toEqual([
      "good",
      ["compiled"],
    ])
  })

  test("code that Node compiled in the temporary directory is neither replaced nor created for programs outside", async () => {
    await using home = await temporaryHome()
    const temporary = home.env["TMPDIR"] ?? ""
    const [existing, planted] = [join(temporary, "node-compile-cache"), `v8-compile-cache-${process.getuid?.()}`]
    await mkdir(existing)
    await writeFile(join(existing, "chunk"), "good")
    await symlink(home.workdir, join(temporary, planted))
    const { NODE_COMPILE_CACHE: _shared, ...env } = home.env
    await using session = await openIn({ ...home, env }, home.workdir)
    const write = (name: string): string =>
      `cd ${temporary} && mkdir -p ${name} && echo bad > ${name}/chunk; cat ${name}/chunk; rm -rf ${name}; mv ${name} moved; mkdir -p ${name}; echo bad > ${name}/chunk`
    for (const name of ["node-compile-cache", planted])
      expect(await outputOf(session.workspace, write(name))).toMatch(/^bad\n/u)
    expect(await readFile(join(existing, "chunk"), "utf8")).toBe("good")
    expect([readdirSync(join(temporary, planted)), readdirSync(home.workdir)]).toEqual([[], []])
  })

  test("the sockets of the user's tmux server are hidden", async () => {
    await using home = await temporaryHome()
    const folder = `/tmp/tmux-${process.getuid?.()}`
    const socket = join(folder, basename(dirname(home.userHome)))
    const created = await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(socket, "")
    try {
      await using session = await openIn(home, home.workdir)
      expect(await outputOf(session.workspace, `ls -A ${folder}`)).toBe("")
    } finally {
      await rm(socket)
      if (created !== undefined) await rmdir(folder).catch(() => undefined)
    }
  })
})

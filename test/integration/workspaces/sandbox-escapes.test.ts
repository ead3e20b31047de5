import { existsSync, readdirSync, statSync } from "node:fs"
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { afterEach, describe, expect, test, vi } from "vitest"

import { systemClock } from "../../../src/base/clock.ts"
import { createLogger } from "../../../src/base/logger.ts"
import { environmentFrom } from "../../../src/config/environment.ts"
import { resolveHome } from "../../../src/config/home.ts"
import { loadConfig } from "../../../src/config/load.ts"
import { openWorkspace } from "../../../src/app/session-workspace.ts"
import type { Workspace } from "../../../src/exec/workspace.ts"
import { findBubblewrap } from "../../support/bubblewrap.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { TemporaryHome } from "../../support/temporary-home.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

afterEach(() => {
  vi.unstubAllEnvs()
})

/** A workspace as a session gets it. The temporary directory of this process, which holds all of the test, is not the session's. */
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

async function say(workspace: Workspace, command: string): Promise<string> {
  const limits = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 20_000, keepState: true }
  return (await workspace.run(command, limits).exit).output
}

test("a file tool does not reach through a link that was put in place after the question", async () => {
  await using home = await temporaryHome({
    files: { ".env": "KEY=1", "config.yaml": "a: 1\n" },
    workFiles: { ".env": "MINE=1" },
  })
  await using place = await openIn(home, home.workdir)
  const { files } = place.workspace
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
  expect(Buffer.from(await files.read(".env")).toString()).toBe("MINE=1")
})

describe.skipIf(missing !== undefined)(
  `ways out of the sandbox${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    test("a directory above a hidden place cannot be renamed away from its cover", async () => {
      await using home = await temporaryHome()
      await mkdir(join(home.userHome, ".config/gh"), { recursive: true })
      await writeFile(join(home.userHome, ".config/gh/hosts.yml"), "the token")
      await using place = await openIn(home, home.userHome)
      expect(await say(place.workspace, "mv ~/.config ~/moved; echo x > ~/.config/other")).toContain("busy")
      expect(await say(place.workspace, "cat ~/*/gh/* ~/.config/gh/*; cat ~/.config/other")).toMatch(
        /No such file.*\nx\n$/su,
      )
    })

    test("a link that a command puts in place of a writable directory opens nothing", async () => {
      await using home = await temporaryHome()
      await mkdir(join(home.userHome, ".npm"))
      const outside = join(home.workdir, "outside")
      await mkdir(outside)
      await using place = await openIn(home, home.userHome)
      await say(place.workspace, "true")
      const prepare = `ln -s ${outside} ~/.nuget; mkdir -p ~/.m2 && ln -s ${outside} ~/.m2/repository; ls -A ~`
      expect(await say(place.workspace, prepare)).toContain(".nuget")
      await mkdir(join(outside, "packages"))
      const write = `echo x > ${outside}/planted; echo x > ${outside}/packages/planted`
      expect((await say(place.workspace, write)).match(/Read-only file system/gu)).toHaveLength(2)
    })

    test("the settings, copies of secret files and earlier conversations are not shown", async () => {
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
      await using place = await openIn(home, home.workdir)
      expect(await say(place.workspace, `grep -rs canary ${home.path}; cat ${home.path}/cache/documents/a.txt`)).toBe(
        "an attachment",
      )
    })

    test("sockets that the environment names are out of reach", async () => {
      await using home = await temporaryHome()
      const path = join(home.env["TMPDIR"] ?? "", "agent/socket")
      await mkdir(join(path, ".."))
      const server = createServer().listen(path)
      await new Promise((resolve) => {
        server.once("listening", resolve)
      })
      await using place = await openIn(home, home.workdir, { NVIM: path })
      const look = `[ -S ${path} ] && echo reachable; mv ${join(path, "..")} ${join(path, "../../moved")}; ls -A ${home.env["TMPDIR"] ?? ""}`
      const said = await say(place.workspace, look)
      server.close()
      expect(said).not.toContain("reachable")
      expect(said).not.toContain("moved\n")
    })

    test("a command finds no state of another conversation, and what it puts in place of its own keeps nobody waiting", async () => {
      await using home = await temporaryHome()
      await using one = await openIn(home, home.workdir)
      await using other = await openIn(home, home.workdir)
      await say(other.workspace, "secret_of_other=1")
      const find = 'find /dev/shm /tmp "$TMPDIR" -maxdepth 1 -name "hermes-shell-*" -writable 2>/dev/null'
      const own = (await say(one.workspace, find)).trim()
      expect(own.split("\n")).toHaveLength(1)
      const plant = `for n in 0 1 2 3; do rm -f ${own}/state-$n.cwd; mkfifo ${own}/state-$n.cwd; done; kill -9 $$`
      await say(one.workspace, plant)
      expect(await say(one.workspace, `rm -f ${own}/*.cwd; echo goes on`)).toContain("goes on")
    }, 30_000)

    test("code that Hermes runs cannot be written, wherever it is kept", async () => {
      await using home = await temporaryHome()
      const cache = join(home.workdir, "compiled")
      await mkdir(join(cache, "hermes"), { recursive: true })
      await writeFile(join(cache, "hermes/chunk"), "good")
      await using place = await openIn(home, home.workdir, { NODE_COMPILE_CACHE: cache })
      await say(place.workspace, `echo bad > ${cache}/hermes/chunk; mv ${cache} ${home.workdir}/other`)
      expect([await readFile(join(cache, "hermes/chunk"), "utf8"), readdirSync(home.workdir)]).toEqual([
        "good",
        ["compiled"],
      ])
    })

    test.skipIf(!existsSync(`/tmp/tmux-${process.getuid?.()}`))(
      "the person's tmux cannot be told to run anything",
      async () => {
        await using home = await temporaryHome()
        await using place = await openIn(home, home.workdir)
        const folder = `/tmp/tmux-${process.getuid?.()}`
        expect([statSync(folder).isDirectory(), await say(place.workspace, `ls -A ${folder}`)]).toEqual([true, ""])
      },
    )
  },
)

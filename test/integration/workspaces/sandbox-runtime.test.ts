import { mkdirSync, mkdtempSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { createServer as createHttpServer } from "node:http"
import { connect, createServer } from "node:net"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"

import { fail, ok } from "../../../src/base/result.ts"
import { createLocalMachine } from "../../../src/exec/local/local-machine.ts"
import { createLocalWorkspace } from "../../../src/exec/local/local-workspace.ts"
import { createNetworkAccess } from "../../../src/exec/sandbox/network/network-access.ts"
import { chooseSandbox } from "../../../src/exec/sandbox/sandbox.ts"
import type { SandboxSettings } from "../../../src/exec/sandbox/sandbox-settings.ts"
import type { CommandExit, RunCommandOptions, Workspace } from "../../../src/exec/workspace.ts"
import { linuxRuntime, missingForSandboxRuntime } from "../../support/sandbox-runtime/linux-runtime.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { TemporaryHome } from "../../support/temporary-home.ts"

const missing = await missingForSandboxRuntime()
const signal = new AbortController().signal

/** The walls of macOS around the commands of a workspace, through the Linux half of the same package. */
function open(home: TemporaryHome, settings: Pick<SandboxSettings, "network" | "access" | "loadRuntime">): Workspace {
  const machine = createLocalMachine()
  const workspace = createLocalWorkspace({
    cwd: home.workdir,
    userHome: home.userHome,
    environment: home.env,
    startupFiles: [],
    // As on macOS: the package mounts a new /dev, which hides the one in memory.
    machine: {
      ...machine,
      createStateDirectory: () => mkdtempSync(join(home.env["TMPDIR"] ?? "", "hermes-shell-")),
    },
    openSandbox: async ({ trial }) => {
      const chosen = await chooseSandbox({
        mode: "required",
        writable: [home.workdir, home.env["TMPDIR"] ?? ""],
        homes: { userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path },
        path: process.env["PATH"] ?? "",
        trial,
        signal,
        ...settings,
      })
      if (!chosen.ok) return fail(chosen.error)
      return chosen.value.kind === "on" ? ok(chosen.value.prefix) : fail("no sandbox")
    },
  })
  const close = async (): Promise<void> => {
    await workspace.close()
    machine.dispose()
  }
  return { ...workspace, close }
}

async function run(
  workspace: Workspace,
  command: string,
  options: Partial<RunCommandOptions> = {},
): Promise<CommandExit> {
  const limits = { timeoutMs: 30_000, signal, keepChars: 20_000, keepState: true as const }
  return await workspace.run(command, { ...limits, ...options }).exit
}

async function startServer() {
  const reached: string[] = []
  const server = createHttpServer((request, response) => {
    reached.push(request.url ?? "")
    response.end("from outside")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return { reached, port: typeof address === "object" && address !== null ? address.port : 0, server }
}

describe.skipIf(missing !== undefined)(titleWithReason("the walls of sandbox-runtime", missing), () => {
  let home: TemporaryHome
  let workspace: Workspace
  beforeAll(async () => {
    home = await temporaryHome({
      files: { ".env": "KEY=secret", "skills/one/SKILL.md": "a skill", "skills/.hub/token": "secret" },
      workFiles: { ".git/config": "[core]\n", ".git/hooks/keep": "", "sub/file": "text" },
    })
    await mkdir(join(home.userHome, ".ssh"))
    await writeFile(join(home.userHome, ".ssh", "id"), "secret")
    await writeFile(join(home.userHome, "notes"), "before")
    workspace = open(home, { network: false, loadRuntime: linuxRuntime({ scratch: home.userHome }) })
  })
  afterAll(async () => {
    await workspace.close()
    await home[Symbol.asyncDispose]()
  })

  test("a command keeps directory, variables and functions for the next one, with exact output and exit code", async () => {
    const first = await run(workspace, `cd sub; export NAME="it's \\"here\\""; greet() { echo "hello $NAME"; }; exit 7`)
    expect([first.how, first.code, first.output]).toEqual(["exited", 7, ""])
    const second = await run(workspace, `pwd; greet; printf 'ä\\n\\001!'; cat; echo $TMPDIR >&2; exit 3`, {
      stdin: "in",
    })
    expect([second.code, second.output]).toEqual([
      3,
      `${home.workdir}/sub\nhello it's "here"\nä\n\u0001!in${home.env["TMPDIR"]}\n`,
    ])
  })

  test("a command writes only to the workspace and temporary directories, and sees no credentials", async () => {
    const { output } = await run(
      workspace,
      `cd ${home.workdir}
      for path in inside "$TMPDIR/inside" "$XDG_CACHE_HOME/inside" "$npm_config_cache/inside" ${home.userHome}/notes ${home.userHome}/new \
        ${home.path}/skills/new .git/config .git/hooks/post-checkout /etc/hermes-was-here; do
        (echo x > "$path") 2>/dev/null && echo "wrote \${path##*/}"
      done
      for hidden in ${home.path}/.env ${home.userHome}/.ssh/id; do (echo x > $hidden) 2>/dev/null; done
      mv .git moved 2>/dev/null && echo moved
      cat ${home.path}/skills/one/SKILL.md; echo
      cat ${home.path}/.env ${home.path}/skills/.hub/token ${home.userHome}/.ssh/id 2>/dev/null | grep secret
      git init -q new && echo repository`,
    )
    expect(output).toBe("wrote inside\nwrote inside\nwrote inside\nwrote inside\na skill\nrepository\n")
    const files = ["notes", ".ssh/id", ".hermes/.env"].map((name) => readFile(join(home.userHome, name), "utf8"))
    expect(await Promise.all(files)).toEqual(["before", "secret", "KEY=secret"])
  })

  test("exceptions for one command open a protected file or take away every write", async () => {
    const cwd = home.workdir
    const config = join(cwd, ".git/config")
    const granted = await run(workspace, `git config -f .git/config user.name me && echo set`, {
      cwd,
      confinement: { granted: [config] },
    })
    expect(granted.output).toBe("set\n")
    const readOnly = await run(workspace, `(echo x > made) 2>/dev/null || echo refused; cat sub/file`, {
      cwd,
      confinement: { readOnly: true },
    })
    expect(readOnly.output).toBe("refused\ntext")
  })

  test("without a network nothing is reached, and no Unix socket can be opened", async () => {
    const { server, port, reached } = await startServer()
    const { output } = await run(
      workspace,
      `curl -sS --max-time 5 http://127.0.0.1:${port}/x >/dev/null 2>&1 || echo unreachable
      node -e 'require("net").createServer().on("error", (error) => console.log(error.code)).listen("s.sock")'`,
    )
    server.close()
    expect([output, reached]).toEqual(["unreachable\nEPERM\n", []])
  })

  test("an interrupt ends the command with everything it started", async () => {
    const mark = `987.${process.pid}`
    const stopping = new AbortController()
    const running = run(workspace, `setsid sleep ${mark} & echo > started; sleep ${mark}`, {
      cwd: home.workdir,
      signal: stopping.signal,
    })
    await vi.waitUntil(
      async () =>
        await readFile(join(home.workdir, "started")).then(
          () => true,
          () => false,
        ),
      {
        timeout: 20_000,
      },
    )
    stopping.abort()
    expect((await running).how).toBe("interrupted")
    const isRunning = async () => await outsideOutput(`pgrep -fc 'sleep ${mark}$' || true`)
    await vi.waitUntil(async () => (await isRunning()) === "0\n", { timeout: 20_000 })
  })

  test("background commands, terminals and scripts with channels run inside the same walls", async () => {
    const attempt = `(echo x > ${home.userHome}/new) 2>/dev/null || echo refused`
    for (const pty of [false, true]) {
      let output = ""
      const background = await workspace.start(`${attempt}; test -t 1 && echo terminal; exit 5`, {
        pty,
        onOutput: (text) => (output += text),
      })
      expect([(await background.exit).code, output.replaceAll("\r", "")]).toEqual([
        5,
        pty ? "refused\nterminal\n" : "refused\n",
      ])
    }
    const staging = join(home.env["TMPDIR"] ?? "", "hermes_sandbox_test")
    mkdirSync(staging)
    const program = await workspace.programs?.start({
      commandLine: ["/bin/bash", "-c", `${attempt} >&3; echo x > ${staging}/file; read -r line <&3; echo "got $line"`],
      cwd: home.workdir,
      privateDirectory: staging,
      channels: 1,
      environment: {},
    })
    const [channel] = program?.channels ?? []
    let sent = ""
    channel?.on("data", (chunk: Buffer) => {
      sent += chunk.toString()
      channel.write("answer\n")
    })
    let printed = ""
    program?.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()))
    expect([await program?.exit, sent, printed]).toEqual([{ code: 0, signal: null }, "refused\n", "got answer\n"])
  })

  test("with a list of hosts, commands reach a listed address through the proxy and nothing else", async () => {
    const [listed, other] = [await startServer(), await startServer()]
    const access = createNetworkAccess({ hosts: [`127.0.0.1:${listed.port}`], path: "", signal })
    const { port } = await access.openLocal()
    // What sandbox-runtime calls the bridge: its relay inside the sandbox connects to this socket.
    const proxySocket = join(home.userHome, "proxy.sock")
    const bridge = createServer((client) => {
      const upstream = connect({ port, host: "127.0.0.1" })
      client.pipe(upstream).pipe(client)
      for (const socket of [client, upstream]) socket.on("error", () => socket.destroy())
    })
    await new Promise<void>((resolve) => bridge.listen(proxySocket, resolve))
    const limited = open(home, {
      network: "list",
      access,
      loadRuntime: linuxRuntime({ scratch: home.userHome, proxySocket }),
    })
    const url = (port: number) => `http://127.0.0.1:${port}/x`
    const { output } = await run(
      limited,
      `curl -sS --max-time 10 ${url(listed.port)}; echo
      curl -sS --max-time 10 --proxy "\${FTP_PROXY}" ${url(listed.port)}; echo
      node -e 'fetch("${url(listed.port)}").then((reply) => reply.text()).then(console.log)'
      curl -sS --max-time 10 ${url(other.port)}
      curl -sS --max-time 10 --proxy "http://guess:wrong@\${HTTP_PROXY##*@}" ${url(listed.port)}
      curl -sS --max-time 10 --noproxy '*' ${url(listed.port)} >/dev/null 2>&1 || echo unreachable`,
    )
    await limited.close()
    access.close()
    for (const { server } of [listed, other]) server.close()
    bridge.close()
    expect(output.split("\n")).toEqual([
      "from outside",
      "from outside",
      "from outside",
      expect.stringContaining("127.0.0.1 is not in terminal.sandbox_hosts"),
      expect.stringContaining("needs the password"),
      "unreachable",
      "",
    ])
    expect([listed.reached, other.reached]).toEqual([["/x", "/x", "/x"], []])
  })

  /** The output of a command outside the sandbox. */
  async function outsideOutput(command: string): Promise<string> {
    const plain = createLocalWorkspace({ cwd: "/", userHome: home.userHome, environment: home.env, startupFiles: [] })
    const { output } = await run(plain, command, { keepState: false })
    await plain.close()
    return output
  }
})

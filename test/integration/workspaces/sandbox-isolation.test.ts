import { existsSync, readdirSync, readFileSync } from "node:fs"
import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test, vi } from "vitest"

import { fail, ok } from "../../../src/base/result.ts"
import { createLocalWorkspace } from "../../../src/exec/local/local-workspace.ts"
import { chooseSandbox } from "../../../src/exec/sandbox/sandbox.ts"
import { hiddenPaths } from "../../../src/exec/sandbox/hidden-paths.ts"
import { sandboxArguments } from "../../../src/exec/sandbox/sandbox-arguments.ts"
import type { Workspace } from "../../../src/exec/workspace.ts"
import { findBubblewrap } from "../../support/bubblewrap.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { TemporaryHome } from "../../support/temporary-home.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

interface IsolationOptions {
  readonly network?: boolean
  /** The workspace is the user's whole home, including the Hermes home. */
  readonly inHome?: boolean
}

function openSandboxed(home: TemporaryHome, options: IsolationOptions = {}): Workspace {
  const root = options.inHome === true ? home.userHome : home.workdir
  return createLocalWorkspace({
    cwd: root,
    userHome: home.userHome,
    environment: home.env,
    startupFiles: [],
    openSandbox: () =>
      Promise.resolve(
        ok(({ cwd, stateDirectory, hasTerminal }) =>
          sandboxArguments({
            program: "program" in bubblewrap ? bubblewrap.program : "",
            writable: [root, home.env["TMPDIR"] ?? tmpdir(), stateDirectory],
            readOnly: [],
            ...hiddenPaths({ userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path }),
            network: options.network ?? false,
            cwd,
            keepTerminal: hasTerminal,
          }),
        ),
      ),
  })
}

function disposable(value: Workspace): AsyncDisposable & { readonly value: Workspace } {
  return { value, [Symbol.asyncDispose]: () => value.close() }
}

async function outputOf(workspace: Workspace, command: string): Promise<string> {
  const limits = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 20_000 }
  return (await workspace.run(command, limits).exit).output
}

describe.skipIf(missing !== undefined)(titleWithReason("sandbox isolation", missing), () => {
  test("a writable path inside a hidden directory can be written, and the rest stays hidden", async () => {
    await using home = await temporaryHome()
    const project = join(home.userHome, ".ssh", "project")
    await mkdir(project, { recursive: true })
    await writeFile(join(home.userHome, ".ssh", "id"), "secret")
    const chosen = await chooseSandbox({
      mode: "required",
      network: false,
      writable: [home.workdir, project],
      homes: { userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path },
      path: process.env["PATH"] ?? "",
      signal: new AbortController().signal,
    })
    await using workspace = disposable(
      createLocalWorkspace({
        cwd: home.workdir,
        userHome: home.userHome,
        environment: home.env,
        startupFiles: [],
        openSandbox: () =>
          Promise.resolve(chosen.ok && chosen.value.kind === "on" ? ok(chosen.value.prefix) : fail("")),
      }),
    )
    const output = await outputOf(
      workspace.value,
      `echo x > ${project}/new && echo wrote; ls ${home.userHome}/.ssh; touch ${home.userHome}/.ssh/id`,
    )
    expect(output).toMatch(/^wrote\nproject\ntouch: .*Permission denied\n$/u)
  })

  test("a secret that is replaced while a command runs stays hidden, and skills are readable", async () => {
    await using home = await temporaryHome({
      files: { ".env": "KEY=first", "skills/one/SKILL.md": "a skill", "SOUL.md": "me" },
    })
    await using workspace = disposable(openSandboxed(home))
    const running = outputOf(
      workspace.value,
      `ls -A ${home.path}; cat ${home.path}/skills/one/SKILL.md; echo ready > ready
        until [ -e go ]; do sleep 0.02; done; cat ${home.path}/.env ${home.path}/auth.json`,
    )
    await vi.waitUntil(() => existsSync(join(home.workdir, "ready")), { timeout: 20_000 })
    for (const [name, text] of [
      [".env", "KEY=second"],
      ["auth.json", "{}"],
    ] as const) {
      await writeFile(join(home.path, `${name}.new`), text)
      await rename(join(home.path, `${name}.new`), join(home.path, name))
    }
    await writeFile(join(home.workdir, "go"), "")
    const output = await running
    expect(output).toMatch(/^skills\na skillcat: /u)
    expect(output).not.toContain("KEY")
    expect(output.match(/No such file/gu)).toHaveLength(2)
  })

  test("a hostile script can write only to the workspace and temporary directories", async () => {
    await using home = await temporaryHome()
    const workspace = openSandboxed(home)
    const outside = join(home.userHome, "outside")
    await mkdir(outside)
    await writeFile(join(outside, "file"), "before")
    await symlink(join(outside, "file"), join(home.workdir, "link-out"))
    const output = await outputOf(
      workspace,
      `touch inside && echo inside
      for path in ${outside}/new ${outside}/file link-out /etc/hermes-was-here /usr/bin/hermes-was-here /var/hermes-was-here \
        /sys/hermes-was-here ${home.path}/hooks/evil /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do
        (echo x > $path) 2>/dev/null && echo "wrote $path"
      done
      ln ${outside}/file hard 2>/dev/null && echo linked
      mv ${outside}/file taken 2>/dev/null && echo moved
      rm ${outside}/file 2>/dev/null && echo removed
      chmod 777 ${outside}/file 2>/dev/null && echo changed
      mount -o remount,rw / 2>/dev/null && echo remounted
      mount -t tmpfs none /mnt 2>/dev/null && echo mounted
      umount -l /proc/sys 2>/dev/null && echo unmounted
      mknod disk b 8 0 2>/dev/null && echo made-device
      grep -h '^CapEff' /proc/self/status`,
    )
    expect(output).toBe("inside\nCapEff:\t0000000000000000\n")
    expect(await readFile(join(outside, "file"), "utf8")).toBe("before")
    await workspace.close()
  })

  test("commands find no secrets of Hermes or of the account", async () => {
    await using home = await temporaryHome({
      config: "model: {}\n",
      files: {
        ".env": "KEY=planted-secret-1",
        "auth.json": "planted-secret-2",
        "mcp-tokens/a.json": "planted-secret-3",
        "profiles/other/.env": "KEY=planted-secret-4",
        "skills/mine/SKILL.md": "a skill",
      },
    })
    await mkdir(join(home.userHome, ".ssh"), { recursive: true })
    await mkdir(join(home.userHome, ".aws"), { recursive: true })
    await writeFile(join(home.userHome, ".ssh/id_ed25519"), "planted-secret-5")
    await writeFile(join(home.userHome, ".aws/credentials"), "planted-secret-6")
    await writeFile(join(home.userHome, ".netrc"), "planted-secret-7")
    for (const inHome of [false, true]) {
      const workspace = openSandboxed(home, { inHome })
      const output = await outputOf(
        workspace,
        `grep -rh planted-secret ${home.userHome} /proc/[0-9]*/environ 2>/dev/null
        cat ${home.path}/skills/mine/SKILL.md
        wc -c 2>/dev/null < /etc/shadow; echo over`,
      )
      expect(output.replace(/^0\n/m, "")).toBe("a skillover\n")
      await workspace.close()
    }
  })

  test("with the home as workspace, files that Hermes itself runs stay read-only", async () => {
    await using home = await temporaryHome({ files: { "skills/mine/SKILL.md": "before" } })
    const workspace = openSandboxed(home, { inHome: true })
    const output = await outputOf(
      workspace,
      `echo ok > mine && echo wrote-own
      for name in skills/mine/SKILL.md permissions.yaml hooks/evil cron/evil; do
        (echo x > ${home.path}/$name) 2>/dev/null && echo "wrote $name"
      done; true`,
    )
    expect(output).toBe("wrote-own\n")
    await workspace.close()
  })

  test("the network is available only when it is enabled", async () => {
    await using home = await temporaryHome()
    const server = createServer((socket) => {
      socket.end("reached\n")
    })
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve)
    })
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const dial = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`
    const outputs: Record<string, string> = {}
    for (const network of [true, false]) {
      const workspace = openSandboxed(home, { network })
      outputs[String(network)] = await outputOf(
        workspace,
        `(${dial}) 2>/dev/null; ls /sys/class/net 2>/dev/null | wc -l >/dev/null`,
      )
      await workspace.close()
    }
    expect(outputs).toEqual({ true: "reached\n", false: "" })
    await new Promise((resolve) => server.close(resolve))
  })

  test("commands leave no process behind", async () => {
    await using home = await temporaryHome()
    const workspace = openSandboxed(home)
    const mark = `86${Date.now() % 1_000_000}`
    await outputOf(
      workspace,
      `setsid sleep ${mark} >/dev/null 2>&1 </dev/null &
      (setsid sh -c 'trap "" TERM HUP INT; (sleep ${mark} &) ; sleep ${mark}' >/dev/null 2>&1 </dev/null &)
      nohup env -i sleep ${mark} >/dev/null 2>&1 </dev/null & disown; sleep 0.2`,
    )
    await expect.poll(() => hostProcesses(mark)).toEqual([])
    await workspace.close()
  })

  test("commands see no process of the machine", async () => {
    await using home = await temporaryHome()
    const workspace = openSandboxed(home)
    expect(
      await outputOf(
        workspace,
        `kill -0 ${process.pid} 2>/dev/null && echo reached; ls -d /proc/${process.pid} 2>/dev/null; true`,
      ),
    ).toBe("")
    await workspace.close()
  })
})

/** Command lines on this machine that contain the mark. */
function hostProcesses(mark: string): readonly string[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, "utf8")
      return line.includes(`sleep\0${mark}`) ? [line] : []
    } catch {
      // It has exited meanwhile.
      return []
    }
  })
}

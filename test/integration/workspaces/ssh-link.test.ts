import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

import { openSshWorkspace } from "../../../src/exec/remote/ssh-workspace.ts"
import type { SshOptions } from "../../../src/exec/remote/ssh-workspace.ts"
import { sshdMissing, startSshd } from "../../support/sshd.ts"
import type { SshdPeer } from "../../support/sshd.ts"

const missing = sshdMissing()
const limits = () => ({ timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 10_000 })

async function sockets(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "s-"))
  return { path, [Symbol.asyncDispose]: async () => await rm(path, { recursive: true, force: true }) }
}

function settings(server: SshdPeer, temporaryDirectory: string, changes: Partial<SshOptions> = {}): SshOptions {
  return {
    clientEnvironment: server.clientEnvironment,
    host: "127.0.0.1",
    user: "root",
    port: server.port,
    keyFile: server.keyFile,
    cwd: server.folder,
    temporaryDirectory,
    startupFiles: [],
    signal: new AbortController().signal,
    ...changes,
  }
}

describe.skipIf(missing !== undefined)(
  `the link of ssh${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    test("commands and files share one connection, and it is gone after closing", async () => {
      await using server = await startSshd()
      await using place = await sockets()
      const opened = await openSshWorkspace(settings(server, place.path))
      if (!opened.ok) throw new Error(opened.error)
      await opened.value.run("true", limits()).exit
      await opened.value.files.write("note", "x")
      expect(server.connections()).toBe(1)
      await opened.value.close()
      await expect.poll(() => server.connections()).toBe(0)
    })

    test("a link that drops while a command runs says so, and the next command opens a new one", async () => {
      await using server = await startSshd()
      await using place = await sockets()
      const opened = await openSshWorkspace(settings(server, place.path))
      if (!opened.ok) throw new Error(opened.error)
      const workspace = opened.value
      await workspace.run("export KEPT=yes", { ...limits(), keepState: true }).exit
      const running = workspace.run("echo begun; sleep 60", limits())
      for await (const text of running.output) if (text.includes("begun")) server.cutConnections()
      expect(await running.exit).toEqual({
        how: "exited",
        code: -1,
        output: "begun\n",
        omittedChars: 0,
        error:
          "the connection was lost while the command ran: the connection to root@127.0.0.1 broke; the next command opens a new one. It may have done part of its work or still be running; look before you run it again",
      })
      expect((await workspace.run("printf $KEPT", { ...limits(), keepState: true }).exit).output).toBe("yes")
      await workspace.close()
    })

    test("a file is not half replaced when the link drops in the middle", async () => {
      await using server = await startSshd()
      await using place = await sockets()
      const opened = await openSshWorkspace(settings(server, place.path))
      if (!opened.ok) throw new Error(opened.error)
      const { files } = opened.value
      await files.write("big", "before")
      const writing = files.write("big", "x".repeat(60_000_000)).then(
        () => "written",
        () => "failed",
      )
      await expect.poll(async () => await server.hasFile(/^\.hermes-.*\.tmp$/), { interval: 1 }).toBe(true)
      server.cutConnections()
      const outcome = await writing
      const after = Buffer.from(await files.read("big")).length
      expect([outcome, after]).toEqual(outcome === "failed" ? ["failed", 6] : ["written", 60_000_000])
      await opened.value.close()
    })

    test("a server that is gone is told as unreachable, before anything was started", async () => {
      await using place = await sockets()
      const server = await startSshd()
      const opened = await openSshWorkspace(settings(server, place.path))
      if (!opened.ok) throw new Error(opened.error)
      await server.stop()
      const exit = await opened.value.run("echo hi", limits()).exit
      expect(exit).toEqual({
        how: "failed-to-start",
        code: -1,
        output: "",
        omittedChars: 0,
        unreachable: true,
        error:
          "root@127.0.0.1 cannot be reached: nothing listens on that port; check terminal.ssh_port and that sshd runs there",
      })
      await expect(opened.value.files.read("x")).rejects.toThrow("nothing listens on that port")
      await opened.value.close()
      await server[Symbol.asyncDispose]()
    })

    test("what is wrong with the settings is said with the setting", async () => {
      await using server = await startSshd()
      await using place = await sockets()
      const errorOf = async (changes: Partial<SshOptions>): Promise<string> => {
        const opened = await openSshWorkspace(settings(server, place.path, changes))
        return opened.ok ? "opened" : opened.error
      }
      expect([
        await errorOf({ host: "" }),
        await errorOf({ host: "-oProxyCommand=evil" }),
        await errorOf({ keyFile: "/no/such/key" }),
        await errorOf({ user: "nobody" }),
        await errorOf({ host: "no-such-host.invalid" }),
        await errorOf({ clientEnvironment: { PATH: "/nowhere" } }),
      ]).toEqual([
        "no host is named for the ssh backend; set terminal.ssh_host",
        "terminal.ssh_host and terminal.ssh_user must not begin with a dash",
        "the key file /no/such/key does not exist; correct terminal.ssh_key",
        expect.stringContaining("check terminal.ssh_user and terminal.ssh_key"),
        "root@no-such-host.invalid cannot be reached: the name is not known; check terminal.ssh_host",
        "ssh cannot be started (no such file or directory); install the OpenSSH client",
      ])
    })
  },
)

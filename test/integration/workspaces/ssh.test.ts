import { openSshWorkspace } from "../../../src/exec/remote/ssh-workspace.ts"
import { sshdUnavailableReason, startSshd } from "../../support/sshd.ts"
import { testWorkspace } from "./conformance.ts"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

testWorkspace({
  name: "ssh",
  missing: sshdUnavailableReason(),
  hasBackgroundInput: false,
  open: async () => {
    const server = await startSshd()
    const temporary = await mkdtemp(join(tmpdir(), "s-"))
    const opened = await openSshWorkspace({
      clientEnvironment: server.clientEnvironment,
      host: "127.0.0.1",
      user: "root",
      port: server.port,
      keyFile: server.keyFile,
      cwd: server.directory,
      temporaryDirectory: temporary,
      signal: new AbortController().signal,
    })
    if (!opened.ok) throw new Error(opened.error)
    return {
      workspace: opened.value,
      directory: server.directory,
      close: async () => {
        await opened.value.close()
        await server[Symbol.asyncDispose]()
        await rm(temporary, { recursive: true, force: true })
      },
    }
  },
})

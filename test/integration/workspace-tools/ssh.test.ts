import { sshdUnavailableReason, startSshd } from "../../support/sshd.ts"
import { testTools } from "./conformance.ts"

testTools({
  name: "ssh",
  missing: sshdUnavailableReason(),
  prepare: async () => {
    const server = await startSshd()
    return {
      // Settings from the environment, as the Python edition has them.
      config: "",
      env: {
        ...server.clientEnvironment,
        TERMINAL_ENV: "ssh",
        TERMINAL_SSH_HOST: "127.0.0.1",
        TERMINAL_SSH_USER: "root",
        TERMINAL_SSH_PORT: String(server.port),
        TERMINAL_SSH_KEY: server.keyFile,
        TERMINAL_CWD: server.directory,
      },
      release: async () => {
        await server[Symbol.asyncDispose]()
      },
    }
  },
})

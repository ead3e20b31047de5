import { sshdMissing, startSshd } from "../../support/sshd.ts"
import { testHands } from "./every-place.ts"

testHands({
  name: "ssh",
  missing: sshdMissing(),
  prepare: async () => {
    const server = await startSshd()
    return {
      config: `terminal:\n  backend: ssh\n  ssh_host: 127.0.0.1\n  ssh_user: root\n  cwd: ${server.folder}\n`,
      env: {
        ...server.clientEnvironment,
        TERMINAL_SSH_PORT: String(server.port),
        TERMINAL_SSH_KEY: server.keyFile,
      },
      release: () => server[Symbol.asyncDispose](),
    }
  },
})

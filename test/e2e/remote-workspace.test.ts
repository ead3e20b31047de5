import { readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { sshdUnavailableReason, startSshd } from "../support/sshd.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor } from "./hermes-process.ts"
import { titleWithReason } from "../support/skip-reason.ts"

const noSshd = sshdUnavailableReason()

test.skipIf(noSshd !== undefined)(
  titleWithReason(
    "on a remote machine: copies skills there, keeps edits there, and copies only a renewed credential back",
    noSshd,
  ),
  async () => {
    await using server = await startSshd()
    await using model = await startModelServer([
      callsTool("terminal", {
        command:
          "cd ~/.hermes; sh skills/greet/run.sh; echo renewed >token.json; echo evil >>skills/greet/run.sh; cd -",
      }),
      callsTool("write_file", { path: "notes.txt", content: "written there\n" }),
      callsTool("patch", { path: "notes.txt", old_string: "written", new_string: "edited" }),
      callsTool("search_files", { pattern: "edited" }),
      says("Done."),
    ])
    const sshSettings = `terminal:
  backend: ssh
  ssh_host: 127.0.0.1
  ssh_user: root
  ssh_port: ${server.port}
  ssh_key: ${server.keyFile}
  cwd: ${server.directory}
  credential_files: [token.json]
`
    await using home = await temporaryHome({
      config: settingsFor(model, sshSettings),
      files: { "skills/greet/run.sh": "echo hello from $(basename $HOME)\n", "token.json": "old\n" },
      env: { HERMES_SSH_BINARY: server.clientEnvironment["HERMES_SSH_BINARY"] ?? "" },
    })
    const { code, stdout } = await hermes(home, ["-z", "work there", "--yolo"], { stdin: "inherit-null" })
    expect([code, stdout.trim()]).toEqual([0, "Done."])
    expect(model.toolResults(1).at(-1)?.text).toContain('"output":"hello from account')
    expect(model.toolResults(4).at(-1)?.text).toContain('"content":"edited there"')
    expect(readFileSync(join(server.directory, "notes.txt"), "utf8")).toBe("edited there\n")
    expect(readFileSync(join(home.path, "token.json"), "utf8")).toBe("renewed\n")
    expect(readFileSync(join(home.path, "skills/greet/run.sh"), "utf8")).not.toContain("evil")
    expect(model.view(0).tools).not.toContain("checkpoint")
    expect(model.view(0).system).toContain("There are no checkpoints there")
    await expect.poll(() => server.connections()).toBe(0)
  },
)

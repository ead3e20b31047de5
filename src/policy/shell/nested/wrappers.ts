/** How a program that starts another one is called. */
export interface Wrapper {
  /** Short options that take a value. */
  readonly short?: string
  /** Long options that take a value as the next word. */
  readonly long?: readonly string[]
  /** Words before the command that are not options. */
  readonly operands?: number
  /** `name=value` words may come before the command. */
  readonly assignments?: boolean
  /** Words that are not options may come first; the command is what follows `--`. */
  readonly afterDashes?: boolean
  /** Part of the shell: the command runs in the same shell and sees its variables and builtins. */
  readonly isBuiltin?: boolean
  /** With one of these options it starts no command. */
  readonly without?: RegExp
  /** Only with these words in front, as in `uv run`. */
  readonly subcommands?: readonly (readonly string[])[]
  /** The command may be one string that a shell runs, as in `watch 'ls | wc'`. */
  readonly joins?: boolean
  /** Options that set the working directory. */
  readonly directory?: readonly string[]
  /** Options whose value is a string that a shell runs. */
  readonly texts?: readonly string[]
}

const options = (list: string): readonly string[] => list.split(" ").map((name) => `--${name}`)
const subcommands = (...list: readonly string[]): readonly (readonly string[])[] =>
  list.map((words) => words.split(" "))

const ROWS: Readonly<Record<string, Wrapper>> = {
  "sudo sudo-rs": {
    short: "ughpCrtTUDR",
    long: options("user group host prompt close-from role type command-timeout other-user chdir chroot"),
    directory: ["-D", "--chdir"],
    assignments: true,
    without: /^(?:-[A-Za-z]*[elvkK]|--(?:edit|list|validate|reset-timestamp|remove-timestamp))$/u,
  },
  doas: { short: "uCa", assignments: true },
  "pkexec run0": {
    short: "u",
    long: options("user group chdir unit property description slice setenv nice"),
    assignments: true,
  },
  "gosu su-exec setuidgid": { operands: 1 },
  "chpst softlimit envuidgid": { short: "ubneUmdopfcrta/012" },
  env: {
    short: "uC",
    long: options("unset chdir"),
    directory: ["-C", "--chdir"],
    assignments: true,
    texts: ["-S", "--split-string"],
  },
  "nohup setsid fakeroot fakechroot catchsegv ssh-agent dbus-run-session unbuffer linux32 linux64 i386 x86_64 proxychains proxychains4 torsocks torify tsocks ccache sccache distcc icecc winpty eatmydata busybox toybox chronic entr valgrind rr flatpak-spawn firejail":
    { short: "lbsi" },
  setarch: { operands: 1 },
  nice: { short: "n", long: options("adjustment") },
  ionice: { short: "cnpPu", long: options("class classdata pid pgid uid") },
  timeout: { short: "ks", long: options("kill-after signal"), operands: 1 },
  gtimeout: { short: "ks", long: options("kill-after signal"), operands: 1 },
  stdbuf: { short: "ioe", long: options("input output error") },
  "time gtime": { short: "fo", long: options("format output") },
  caffeinate: { short: "tw" },
  unshare: {
    short: "SGRw",
    long: options("root wd setuid setgid map-user map-group map-users map-groups propagation setgroups"),
  },
  chroot: { long: options("userspec groups"), operands: 1 },
  flock: { short: "wE", long: options("timeout wait conflict-exit-code"), operands: 1, texts: ["-c", "--command"] },
  strace: { short: "abeEIoOpPsSuUX", long: options("trace output user env string-limit") },
  ltrace: { short: "aAbdDeEFlnopsuwx" },
  perf: { subcommands: subcommands("stat", "record", "trace", "mem record"), short: "eopCtFcIrx" },
  "systemd-run": {
    short: "pEMHuC",
    long: options(
      "unit slice uid gid nice working-directory property description setenv machine host on-active on-boot on-startup on-unit-active on-unit-inactive on-calendar timer-property path-property socket-property service-type background",
    ),
  },
  "systemd-inhibit": { long: options("what who why mode") },
  bwrap: {
    long: options(
      "chdir setenv unsetenv proc dev tmpfs dir hostname uid gid seccomp lock-file args cap-add cap-drop userns exec-label perms size file bind-data",
    ),
  },
  proot: { short: "rbwqvkiRS0", long: options("rootfs bind cwd qemu kernel-release change-id") },
  nsenter: { short: "tSG", long: options("target setuid setgid") },
  ip: { subcommands: subcommands("netns exec"), operands: 1 },
  chrt: {
    short: "TPD",
    long: options("sched-runtime sched-period sched-deadline"),
    operands: 1,
    without: /^-[a-z]*[pm]/u,
  },
  taskset: { operands: 1, without: /^-[a-z]*p/u },
  numactl: { short: "mNCipwf", long: options("membind cpunodebind physcpubind interleave preferred") },
  prlimit: { short: "po", long: options("pid output") },
  cpulimit: { short: "lpcemi", long: options("limit pid exe") },
  setpriv: {
    long: options(
      "reuid regid groups ruid rgid euid egid inh-caps ambient-caps bounding-set securebits pdeathsig selinux-label apparmor-profile",
    ),
  },
  capsh: { texts: ["-c"] },
  runcon: { short: "urtl", long: options("user role type range"), operands: 1 },
  "start-stop-daemon": {
    short: "xapnucgkPrIsRd",
    long: options("exec startas pidfile name user chuid group chroot chdir nicelevel signal retry"),
    without: /^(?:-[KTS]|--stop)$/u,
  },
  daemonize: { short: "aceolpuE" },
  "xvfb-run": {
    short: "enpsfwl",
    long: options("error-file auth-file server-num server-args wait listen-tcp xauth-protocol"),
  },
  sshpass: { short: "pfdP" },
  watch: { short: "nq", long: options("interval equexit"), joins: true },
  watchexec: { short: "weixfdos", long: options("watch exts ignore filter"), joins: true },
  hyperfine: {
    short: "wmMrpcLPDSu",
    long: options(
      "warmup min-runs max-runs runs prepare setup cleanup parameter-list parameter-scan export-json export-markdown shell",
    ),
    joins: true,
    texts: ["-p", "--prepare", "-s", "--setup", "-c", "--cleanup"],
  },
  uv: {
    subcommands: subcommands("run", "tool run"),
    short: "pmw",
    long: options(
      "python with with-requirements with-editable extra group package directory project env-file index-url index",
    ),
  },
  uvx: { short: "pw", long: options("python from with with-editable with-requirements index-url index") },
  pipx: { subcommands: subcommands("run"), long: options("spec python pip-args") },
  poetry: { subcommands: subcommands("run") },
  pipenv: { subcommands: subcommands("run") },
  pdm: { subcommands: subcommands("run"), short: "p" },
  hatch: { subcommands: subcommands("run") },
  rye: { subcommands: subcommands("run") },
  pixi: { subcommands: subcommands("run"), short: "e", long: options("environment manifest-path") },
  "conda mamba micromamba": { subcommands: subcommands("run"), short: "np", long: options("name prefix cwd") },
  "npx pnpx": {
    short: "pw",
    long: options("package workspace prefix registry cache userconfig"),
    texts: ["-c", "--call"],
  },
  bunx: { short: "p", long: options("package") },
  npm: {
    subcommands: subcommands("exec", "x"),
    short: "pw",
    long: options("package workspace prefix registry cache userconfig"),
    texts: ["-c", "--call"],
  },
  pnpm: { subcommands: subcommands("dlx", "exec"), short: "C", long: options("package dir filter") },
  yarn: { subcommands: subcommands("dlx", "exec"), short: "p", long: options("package cwd") },
  bun: { subcommands: subcommands("x"), long: options("cwd config") },
  bundle: { subcommands: subcommands("exec") },
  "rbenv pyenv nodenv jenv goenv asdf": { subcommands: subcommands("exec") },
  "mise rtx": { subcommands: subcommands("exec", "x"), short: "Cj", afterDashes: true },
  nvm: { subcommands: subcommands("exec"), operands: 1 },
  volta: { subcommands: subcommands("run"), long: options("node npm yarn") },
  direnv: { subcommands: subcommands("exec"), operands: 1 },
  dotenv: { short: "efc" },
  "cross-env cross-env-shell": { assignments: true },
  "dotenvx infisical doppler op teller chamber": {
    subcommands: subcommands("run", "exec"),
    short: "fepc",
    long: options("env-file env project config"),
  },
  "aws-vault aws-okta": { subcommands: subcommands("exec"), operands: 1 },
  rustup: { subcommands: subcommands("run"), operands: 1 },
  "toolbox distrobox": { subcommands: subcommands("run", "enter"), short: "cdrn", long: options("container name") },
  screen: { short: "cehprsStTx", without: /^-(?:ls|list|r|x|wipe|[A-Za-z]*X)/u },
  "ld-linux-x86-64.so.2 ld-linux.so.2 ld-linux-aarch64.so.1 ld.so ld-musl-x86_64.so.1": {
    long: options("library-path inhibit-rpath audit preload argv0"),
  },
  "qemu-x86_64 qemu-aarch64 qemu-i386 qemu-arm": { short: "LEUgs" },
  command: { isBuiltin: true, without: /^-[pvV]*[vV]/u },
  builtin: { isBuiltin: true },
  exec: { short: "a", isBuiltin: true },
  noglob: { isBuiltin: true },
  nocorrect: { isBuiltin: true },
}

export const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map(
  Object.entries(ROWS).flatMap(([names, wrapper]) => names.split(" ").map((name) => [name, wrapper] as const)),
)

//! A RabbitMQ of a test's own: own node name, ports and data, nothing shared with a broker of the system.

use std::{
    fs, io,
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// The script itself: the one in the path may insist on another user.
const SCRIPTS: [&str; 3] = [
    "/usr/lib/rabbitmq/bin/rabbitmq-server",
    "/opt/rabbitmq/sbin/rabbitmq-server",
    "/usr/local/sbin/rabbitmq-server",
];
/// For a start on a busy machine, where it takes much longer than the usual ten seconds.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(100);

/// PEM files for a broker that also speaks TLS.
#[derive(Debug, Clone)]
pub struct Certificates {
    pub authority: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug)]
pub struct Broker {
    dir: TempDir,
    script: PathBuf,
    port: u16,
    tls_port: u16,
    distribution_port: u16,
    names_port: u16,
    names: Child,
    node: Option<Child>,
}

impl Broker {
    /// Starts one and waits until it serves; `None`, said loudly, where RabbitMQ is not installed. Blocks.
    pub fn start(certificates: Option<&Certificates>) -> io::Result<Option<Self>> {
        let Some(script) = SCRIPTS.iter().map(PathBuf::from).find(|p| p.exists()) else {
            let _ = writeln!(io::stderr(), "SKIPPED: RabbitMQ is not installed, nothing was tested on it");
            return Ok(None);
        };
        let dir = tempfile::Builder::new().prefix("hindsight-rabbitmq-").tempdir()?;
        let [port, tls_port, distribution_port, names_port] = free_ports()?;
        fs::write(dir.path().join("enabled_plugins"), "[].\n")?;
        fs::write(dir.path().join("rabbitmq.conf"), configuration(tls_port, certificates))?;
        // The name server of the Erlang node, in the foreground, so that it ends with the broker.
        let names = Command::new("epmd")
            .args(["-port", &names_port.to_string(), "-address", "127.0.0.1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut broker =
            Self { dir, script, port, tls_port, distribution_port, names_port, names, node: None };
        broker.run()?;
        Ok(Some(broker))
    }

    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.port)
    }

    /// Where it speaks TLS, when it was given certificates.
    pub fn tls_url(&self) -> String {
        format!("amqps://guest:guest@localhost:{}/%2f", self.tls_port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts it again, on the same ports and data, and waits until it serves.
    pub fn run(&mut self) -> io::Result<()> {
        self.node = Some(self.command().spawn()?);
        let until = Instant::now() + PATIENCE;
        while !serves(self.port) {
            let ended = self.node.as_mut().map(Child::try_wait).transpose()?.flatten();
            if ended.is_some() || Instant::now() > until {
                return Err(io::Error::other(format!("RabbitMQ does not start: {}", self.log())));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// `SIGKILL`: nothing is said to anybody.
    pub fn kill(&mut self) -> io::Result<()> {
        let Some(mut node) = self.node.take() else { return Ok(()) };
        node.kill()?;
        node.wait().map(drop)
    }

    /// `SIGTERM`: an orderly stop.
    pub fn stop(&mut self) -> io::Result<()> {
        let Some(mut node) = self.node.take() else { return Ok(()) };
        Command::new("kill").args(["-TERM", &node.id().to_string()]).status()?;
        node.wait().map(drop)
    }

    fn command(&self) -> Command {
        let dir = self.dir.path();
        let mut command = Command::new(&self.script);
        command
            .current_dir(dir)
            .env("HOME", dir)
            .env("ERL_EPMD_PORT", self.names_port.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODENAME", format!("hindsight-{}@localhost", self.port))
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODE_PORT", self.port.to_string())
            .env("RABBITMQ_DIST_PORT", self.distribution_port.to_string())
            .env("RABBITMQ_MNESIA_BASE", dir.join("data"))
            .env("RABBITMQ_LOG_BASE", dir.join("log"))
            .env("RABBITMQ_GENERATED_CONFIG_DIR", dir.join("generated"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", dir.join("enabled_plugins"))
            .env("RABBITMQ_CONFIG_FILE", dir.join("rabbitmq.conf"))
            .env("RABBITMQ_CONF_ENV_FILE", dir.join("none"))
            .env("RABBITMQ_PID_FILE", dir.join("pid"))
            // Two schedulers that do not spin while they wait.
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none")
            // The script becomes the node, so that the process we know is the one to signal.
            .env("RUNNING_UNDER_SYSTEMD", "true")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// The end of its log.
    fn log(&self) -> String {
        let name = format!("hindsight-{}@localhost.log", self.port);
        let log = fs::read_to_string(self.dir.path().join("log").join(name)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.kill();
        let _ = self.names.kill();
        let _ = self.names.wait();
    }
}

fn free_ports() -> io::Result<[u16; 4]> {
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?);
    }
    let mut ports = [0; 4];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

fn configuration(tls_port: u16, certificates: Option<&Certificates>) -> String {
    let base =
        "disk_free_limit.absolute = 50MB\nraft.wal_max_size_bytes = 16777216\nlog.file.level = warning\n";
    let Some(Certificates { authority, certificate, key }) = certificates else { return base.into() };
    let path = |p: &Path| p.display().to_string();
    format!(
        "{base}listeners.ssl.1 = 127.0.0.1:{tls_port}\nssl_options.cacertfile = {}\n\
         ssl_options.certfile = {}\nssl_options.keyfile = {}\nssl_options.verify = verify_none\n",
        path(authority),
        path(certificate),
        path(key)
    )
}

/// Whether somebody answers a protocol header with a first frame.
fn serves(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    let mut first = [0; 7];
    stream.set_read_timeout(Some(Duration::from_secs(2))).is_ok()
        && stream.write_all(b"AMQP\x00\x00\x09\x01").is_ok()
        && stream.read_exact(&mut first).is_ok()
        && first[0] == 1
}

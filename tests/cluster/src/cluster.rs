use std::{
    fs::File,
    net::{Ipv4Addr, TcpListener},
    path::Path,
};

use hindsight_bus_amqp::testkit::Broker;
use hindsight_client::Client;
use hindsight_e2e::{program, until};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::block_in_place,
};
use tonic::transport::Channel;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::Process;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Collector,
    Evaluator,
    Compactor,
    Recall,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Collector, Self::Evaluator, Self::Compactor, Self::Recall];

    pub fn program(self) -> &'static str {
        match self {
            Self::Collector => "hindsight-collector",
            Self::Evaluator => "hindsight-evaluator",
            Self::Compactor => "hindsight-compactor",
            Self::Recall => "hindsight-recall",
        }
    }
}

/// How many processes of each role, and how they are set.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    pub collectors: usize,
    pub evaluators: usize,
    pub compactors: usize,
    pub recalls: usize,
    /// Settings beside what says where things are.
    pub env: Vec<(String, String)>,
}

impl Shape {
    /// So many of each role.
    pub fn of_each(n: usize) -> Self {
        Self { collectors: n, evaluators: n, compactors: n, recalls: n, env: vec![] }
    }

    fn roles(&self) -> impl Iterator<Item = (Role, usize)> {
        let counts = [self.collectors, self.evaluators, self.compactors, self.recalls];
        Role::ALL.into_iter().zip(counts).flat_map(|(role, n)| (0..n).map(move |i| (role, i)))
    }
}

/// One process of a role.
#[derive(Debug)]
pub struct Node {
    pub role: Role,
    pub process: Process,
    port: u16,
    admin_port: u16,
}

impl Node {
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The sum of what the process tells of a metric, over its series that name all of these words; 0 when there
    /// are none.
    pub async fn metric(&self, name: &str, words: &[&str]) -> Result<f64, String> {
        let told = get(self.admin_port, "/metrics").await.map_err(|e| e.to_string())?;
        let series =
            told.lines().filter(|line| line.starts_with(name) && words.iter().all(|w| line.contains(w)));
        Ok(series.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    /// As its users have it: repeats its calls while the server is away.
    pub fn client(&self) -> Client {
        Client::remote(&self.url(), None).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Until every service of the process is ready.
    pub async fn ready(&mut self) {
        let endpoint = Channel::from_shared(self.url()).unwrap_or_else(|e| panic!("{e}"));
        let mut health = HealthClient::new(endpoint.connect_lazy());
        until(&format!("{} ready", self.role.program()), async || {
            let ended = self.process.ended();
            assert!(ended.is_none(), "{} ended: {ended:?}\n{}", self.role.program(), self.process.log());
            let answer = health.check(HealthCheckRequest::default()).await.map_err(|e| e.to_string())?;
            let status = answer.into_inner().status();
            if status == ServingStatus::Serving { Ok(()) } else { Err(format!("{status:?}")) }
        })
        .await;
    }
}

#[derive(Debug)]
pub struct Cluster {
    pub broker: Broker,
    pub store: Process,
    pub nodes: Vec<Node>,
    store_port: u16,
    dir: TempDir,
    /// One cluster at a time on this machine: several would only measure each other.
    _turn: File,
}

impl Cluster {
    /// Starts everything and waits until it is ready; `None`, said loudly, where RabbitMQ is not installed.
    pub async fn start(shape: &Shape) -> Option<Self> {
        let mut cluster = Self::launch(shape).await?;
        cluster.store.start();
        cluster.ready().await;
        Some(cluster)
    }

    /// Starts the broker and the roles. The store is not started.
    pub async fn launch(shape: &Shape) -> Option<Self> {
        let turn = block_in_place(turn).unwrap_or_else(|e| panic!("{e}"));
        let broker = block_in_place(|| Broker::start(None)).unwrap_or_else(|e| panic!("{e}"))?;
        let dir = TempDir::new().unwrap_or_else(|e| panic!("{e}"));
        let ports = free_ports(1 + 2 * shape.roles().count());
        let store = Process::new(
            program("hindsight-qdrant-socket"),
            store_args(dir.path(), ports[0], "0s"),
            vec![],
            dir.path().join("qdrant.log"),
        );
        let env = [settings(&broker, ports[0]), shape.env.clone()].concat();
        let nodes = shape.roles().zip(ports[1..].chunks(2)).map(|((role, i), ports)| {
            let log = dir.path().join(format!("{}-{i}.log", role.program()));
            let (port, admin_port) = (ports[0], ports[1]);
            let listen = [("--listen", port), ("--admin-listen", admin_port)];
            let args =
                listen.into_iter().flat_map(|(flag, port)| [flag.to_owned(), format!("127.0.0.1:{port}")]);
            let process = Process::new(program(role.program()), args.collect(), env.clone(), log);
            Node { role, process, port, admin_port }
        });
        let mut cluster =
            Self { broker, store, nodes: nodes.collect(), store_port: ports[0], dir, _turn: turn };
        for node in &mut cluster.nodes {
            node.process.start();
        }
        Some(cluster)
    }

    /// Until every role of every process is ready.
    pub async fn ready(&mut self) {
        for node in &mut self.nodes {
            node.ready().await;
        }
    }

    /// The `i`th process of the role.
    pub fn node(&mut self, role: Role, i: usize) -> &mut Node {
        let mut of_role = self.nodes.iter_mut().filter(|n| n.role == role);
        of_role.nth(i).unwrap_or_else(|| panic!("no {role:?} {i}"))
    }

    pub fn client(&mut self, role: Role) -> Client {
        self.node(role, 0).client()
    }

    /// One client per process of the role.
    pub fn clients(&self, role: Role) -> Vec<Client> {
        self.nodes.iter().filter(|n| n.role == role).map(Node::client).collect()
    }

    pub fn stop_broker(&mut self) {
        block_in_place(|| self.broker.stop()).unwrap_or_else(|e| panic!("{e}"));
    }

    pub fn kill_broker(&mut self) {
        block_in_place(|| self.broker.kill()).unwrap_or_else(|e| panic!("{e}"));
    }

    pub fn run_broker(&mut self) {
        block_in_place(|| self.broker.run()).unwrap_or_else(|e| panic!("{e}"));
    }

    /// Kills the store and starts it again on the same data, so that it answers each call after `delay`, as
    /// in `300ms`.
    pub async fn restart_store(&mut self, delay: &str) {
        self.store.kill().await;
        let args = store_args(self.dir.path(), self.store_port, delay);
        self.store.start_with(args);
    }
}

async fn get(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Waits for the clusters of other tests to end.
fn turn() -> std::io::Result<File> {
    let file = File::create(std::env::temp_dir().join("hindsight-cluster.lock"))?;
    file.lock()?;
    Ok(file)
}

fn store_args(dir: &Path, port: u16, delay: &str) -> Vec<String> {
    let data = dir.join("qdrant").display().to_string();
    let listen = format!("127.0.0.1:{port}");
    ["--data", &data, "--listen", &listen, "--delay", delay].map(str::to_owned).to_vec()
}

/// Where things are, as every role is told it.
fn settings(broker: &Broker, store: u16) -> Vec<(String, String)> {
    let settings = [
        ("BUS__KIND", "amqp".to_owned()),
        ("BUS__URL", format!("amqp://127.0.0.1:{}", broker.port())),
        ("BUS__USERNAME", "guest".to_owned()),
        ("BUS__PASSWORD", "guest".to_owned()),
        ("STORE__KIND", "qdrant".to_owned()),
        ("STORE__URL", format!("http://127.0.0.1:{store}")),
        // What is tested is faults, not the speed of a busy machine.
        ("RECALL__DEADLINE", "20s".to_owned()),
    ];
    settings.map(|(key, value)| (format!("HINDSIGHT__{key}"), value)).to_vec()
}

/// Ports that are free now and stay the same over restarts.
fn free_ports(n: usize) -> Vec<u16> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let held: Vec<_> = (0..n).map(|_| bind().unwrap_or_else(|e| panic!("{e}"))).collect();
    held.iter().map(|l| l.local_addr().unwrap_or_else(|e| panic!("{e}")).port()).collect()
}

/** Asks Temporal's frontend whether it serves: grpc.health.v1 over plain HTTP/2, without loading the SDK. */

import { connect } from 'node:http2';

const SERVICE = 'temporal.api.workflowservice.v1.WorkflowService';
const SERVING = 1;

/** One unary message: five bytes of frame, then `service` (field 1, a string). */
function healthCheckRequest(): Buffer {
  const name = Buffer.from(SERVICE);
  const message = Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}

/** True if the frontend at `host:port` says SERVING; false if it does not answer or says anything else. */
export function temporalServes(address: string, timeoutMs = 1000): Promise<boolean> {
  return new Promise((resolve) => {
    const session = connect(`http://${address}`);
    const finish = (serves: boolean) => {
      clearTimeout(timer);
      session.destroy();
      resolve(serves);
    };
    const timer = setTimeout(() => {
      finish(false);
    }, timeoutMs);
    session.on('error', () => {
      finish(false);
    });
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const chunks: Buffer[] = [];
    stream.on('error', () => {
      finish(false);
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const message = Buffer.concat(chunks).subarray(5);
      finish(message[0] === 0x08 && message[1] === SERVING);
    });
    stream.end(healthCheckRequest());
  });
}
